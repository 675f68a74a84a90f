//! The emojis to vote for: a fixed table, the same in every service.

/// Number of emojis.
pub const COUNT: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emoji {
    /// The character.
    pub unicode: &'static str,
    /// Its name without the colons.
    pub name: &'static str,
}

impl Emoji {
    const fn new(unicode: &'static str, name: &'static str) -> Emoji {
        Emoji { unicode, name }
    }

    /// Its shortcode: `:light_bulb:`.
    pub fn shortcode(&self) -> String {
        format!(":{}:", self.name)
    }

    /// The gRPC method that votes for it: `VoteLightBulb`.
    pub fn method(&self) -> String {
        let mut method = String::from("Vote");
        for word in self.name.split('_') {
            let mut letters = word.chars();
            method.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            method.push_str(letters.as_str());
        }
        method
    }
}

/// Index of an emoji in [`ALL`], by its shortcode with the colons.
pub fn place(shortcode: &str) -> Option<usize> {
    let name = shortcode.strip_prefix(':')?.strip_suffix(':')?;
    ALL.iter().position(|emoji| emoji.name == name)
}

/// All emojis, in display order.
pub const ALL: [Emoji; COUNT] = [
    Emoji::new("😂", "joy"),
    Emoji::new("😍", "heart_eyes"),
    Emoji::new("😎", "sunglasses"),
    Emoji::new("🤔", "thinking"),
    Emoji::new("😴", "sleeping"),
    Emoji::new("😱", "scream"),
    Emoji::new("🥳", "partying"),
    Emoji::new("🤯", "mind_blown"),
    Emoji::new("😇", "halo"),
    Emoji::new("🙃", "upside_down"),
    Emoji::new("👍", "thumbs_up"),
    Emoji::new("👏", "clap"),
    Emoji::new("🙌", "raised_hands"),
    Emoji::new("🤝", "handshake"),
    Emoji::new("💪", "muscle"),
    Emoji::new("🦊", "fox"),
    Emoji::new("🐼", "panda"),
    Emoji::new("🐨", "koala"),
    Emoji::new("🐯", "tiger"),
    Emoji::new("🦁", "lion"),
    Emoji::new("🐸", "frog"),
    Emoji::new("🐵", "monkey"),
    Emoji::new("🐔", "chicken"),
    Emoji::new("🐧", "penguin"),
    Emoji::new("🦉", "owl"),
    Emoji::new("🦋", "butterfly"),
    Emoji::new("🐝", "bee"),
    Emoji::new("🐞", "ladybug"),
    Emoji::new("🐢", "turtle"),
    Emoji::new("🐍", "snake"),
    Emoji::new("🐙", "octopus"),
    Emoji::new("🦀", "crab"),
    Emoji::new("🐬", "dolphin"),
    Emoji::new("🐳", "whale"),
    Emoji::new("🦈", "shark"),
    Emoji::new("🐘", "elephant"),
    Emoji::new("🦒", "giraffe"),
    Emoji::new("🦔", "hedgehog"),
    Emoji::new("🦇", "bat"),
    Emoji::new("🦄", "unicorn"),
    Emoji::new("🌵", "cactus"),
    Emoji::new("🌲", "evergreen"),
    Emoji::new("🌴", "palm_tree"),
    Emoji::new("🌻", "sunflower"),
    Emoji::new("🌹", "rose"),
    Emoji::new("🍀", "clover"),
    Emoji::new("🍄", "mushroom"),
    Emoji::new("🍎", "apple"),
    Emoji::new("🍌", "banana"),
    Emoji::new("🍓", "strawberry"),
    Emoji::new("🍉", "watermelon"),
    Emoji::new("🍒", "cherries"),
    Emoji::new("🍑", "peach"),
    Emoji::new("🍍", "pineapple"),
    Emoji::new("🥑", "avocado"),
    Emoji::new("🌽", "corn"),
    Emoji::new("🥕", "carrot"),
    Emoji::new("🍞", "bread"),
    Emoji::new("🧀", "cheese"),
    Emoji::new("🍕", "pizza"),
    Emoji::new("🍔", "burger"),
    Emoji::new("🌮", "taco"),
    Emoji::new("🍣", "sushi"),
    Emoji::new("🍩", "doughnut"),
    Emoji::new("🍪", "cookie"),
    Emoji::new("🎂", "cake"),
    Emoji::new("🍫", "chocolate"),
    Emoji::new("🍿", "popcorn"),
    Emoji::new("☕", "coffee"),
    Emoji::new("🍵", "tea"),
    Emoji::new("⚽", "football"),
    Emoji::new("🏀", "basketball"),
    Emoji::new("🎾", "tennis"),
    Emoji::new("🎳", "bowling"),
    Emoji::new("🏄", "surfing"),
    Emoji::new("🚲", "bicycle"),
    Emoji::new("🚀", "rocket"),
    Emoji::new("⚓", "anchor"),
    Emoji::new("🚁", "helicopter"),
    Emoji::new("🚂", "locomotive"),
    Emoji::new("🏕️", "camping"),
    Emoji::new("🌋", "volcano"),
    Emoji::new("🗻", "mountain"),
    Emoji::new("🌈", "rainbow"),
    Emoji::new("⚡", "lightning"),
    Emoji::new("❄️", "snowflake"),
    Emoji::new("🔥", "fire"),
    Emoji::new("🌊", "wave"),
    Emoji::new("🌟", "star"),
    Emoji::new("🌙", "moon"),
    Emoji::new("🎸", "guitar"),
    Emoji::new("🎺", "trumpet"),
    Emoji::new("🥁", "drum"),
    Emoji::new("🎨", "palette"),
    Emoji::new("🎲", "dice"),
    Emoji::new("📚", "books"),
    Emoji::new("🔭", "telescope"),
    Emoji::new("💡", "light_bulb"),
    Emoji::new("🔑", "key"),
    Emoji::new("🎈", "balloon"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_emoji_has_a_name_and_a_method_of_its_own() {
        let names: BTreeSet<&str> = ALL.iter().map(|emoji| emoji.name).collect();
        let methods: BTreeSet<String> = ALL.iter().map(Emoji::method).collect();
        let drawn: BTreeSet<&str> = ALL.iter().map(|emoji| emoji.unicode).collect();
        assert_eq!((names.len(), methods.len(), drawn.len()), (100, 100, 100));
        assert!(methods.contains("VoteLightBulb"), "{methods:?}");
    }

    #[test]
    fn an_emoji_is_found_by_its_shortcode_and_by_nothing_else() {
        for (at, emoji) in ALL.iter().enumerate() {
            assert_eq!(place(&emoji.shortcode()), Some(at));
        }
        assert_eq!(place("doughnut"), None);
        assert_eq!(place(":doughnut"), None);
        assert_eq!(place(":kangaroo:"), None);
        assert_eq!(place(""), None);
    }
}
