//! The services as other programs see them: methods and messages are those of the .proto files.

use std::path::Path;

use prost_reflect::{DescriptorPool, DynamicMessage, Value};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Endpoint;
use tonic::{Request, Status};

use crate::rig::Running;

fn described() -> DescriptorPool {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let files = protox::compile(["emoji.proto", "voting.proto"], [proto]).unwrap();
    DescriptorPool::from_file_descriptor_set(files).unwrap()
}

/// Messages of one method, known from its description only.
struct Described(prost_reflect::MethodDescriptor);

struct Out;
struct In(prost_reflect::MessageDescriptor);

impl Codec for Described {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = Out;
    type Decoder = In;

    fn encoder(&mut self) -> Out {
        Out
    }

    fn decoder(&mut self) -> In {
        In(self.0.output())
    }
}

impl Encoder for Out {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, item: DynamicMessage, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        prost::Message::encode(&item, into).map_err(|error| Status::internal(error.to_string()))
    }
}

impl Decoder for In {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        let decoded = DynamicMessage::decode(self.0.clone(), from);
        decoded
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

/// Calls methods one after the other as a program would that has only the .proto files.
struct Caller {
    runtime: tokio::runtime::Runtime,
    channel: tonic::transport::Channel,
    pool: DescriptorPool,
}

impl Caller {
    fn of(service: &Running) -> Caller {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let endpoint = Endpoint::from_shared(format!("http://{}", service.at)).unwrap();
        let channel = runtime.block_on(endpoint.connect()).unwrap();
        Caller {
            runtime,
            channel,
            pool: described(),
        }
    }

    fn methods(&self, service: &str) -> Vec<prost_reflect::MethodDescriptor> {
        self.pool
            .get_service_by_name(service)
            .unwrap()
            .methods()
            .collect()
    }

    fn call(
        &self,
        method: &prost_reflect::MethodDescriptor,
        fill: &[(&str, &str)],
    ) -> Result<DynamicMessage, Status> {
        let mut message = DynamicMessage::new(method.input());
        for (field, value) in fill {
            message.set_field_by_name(field, Value::String((*value).to_owned()));
        }
        let service = method.parent_service().full_name();
        let path = format!("/{service}/{}", method.name()).parse().unwrap();
        let mut grpc = tonic::client::Grpc::new(self.channel.clone());
        self.runtime.block_on(async {
            grpc.ready().await.unwrap();
            let codec = Described(method.clone());
            grpc.unary(Request::new(message), path, codec)
                .await
                .map(tonic::Response::into_inner)
        })
    }
}

#[test]
fn every_method_of_the_voting_service_is_there_and_votes_for_one_emoji() {
    let voting = Running::start("voting", &[]);
    let caller = Caller::of(&voting);
    let methods = caller.methods("emojivoto.v1.VotingService");
    let votes: Vec<_> = methods
        .iter()
        .filter(|method| method.name().starts_with("Vote"))
        .collect();
    assert_eq!((methods.len(), votes.len()), (101, 100));
    for method in &votes {
        caller.call(method, &[]).unwrap();
    }
    let results = methods
        .iter()
        .find(|method| method.name() == "Results")
        .unwrap();
    let told = caller.call(results, &[]).unwrap();
    let told = told.get_field_by_name("results").unwrap();
    let told: Vec<(String, u64)> = told
        .as_list()
        .unwrap()
        .iter()
        .map(|result| {
            let result = result.as_message().unwrap();
            let name = result.get_field_by_name("shortcode").unwrap();
            let votes = result.get_field_by_name("votes").unwrap();
            (name.as_str().unwrap().to_owned(), votes.as_u64().unwrap())
        })
        .collect();
    assert_eq!(told.len(), 100);
    for ((shortcode, votes), method) in told.iter().zip(&votes) {
        let words = shortcode.trim_matches(':').replace('_', "");
        assert_eq!(format!("vote{words}"), method.name().to_lowercase());
        assert_eq!(*votes, 1, "{shortcode}");
    }
}

#[test]
fn the_emoji_service_lists_and_finds_as_described() {
    let emoji = Running::start("emoji", &[]);
    let caller = Caller::of(&emoji);
    let methods = caller.methods("emojivoto.v1.EmojiService");
    let [list, find] = &methods[..] else {
        panic!("two methods, not {}", methods.len());
    };
    let listed = caller.call(list, &[]).unwrap();
    let listed = listed.get_field_by_name("list").unwrap();
    assert_eq!(listed.as_list().unwrap().len(), 100);
    let found = caller.call(find, &[("shortcode", ":fox:")]).unwrap();
    assert_eq!(
        found.to_string(),
        r#"emoji{unicode:"🦊",shortcode:":fox:"}"#.replace("🦊", r"\360\237\246\212")
    );
    let none = caller.call(find, &[("shortcode", ":kangaroo:")]).unwrap();
    assert!(!none.has_field_by_name("emoji"));
}

#[test]
fn a_method_that_is_not_there_is_unimplemented_and_not_counted() {
    let voting = Running::start("voting", &[]);
    let caller = Caller::of(&voting);
    let of_emoji = caller.methods("emojivoto.v1.EmojiService");
    let status = caller.call(&of_emoji[0], &[]).unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unimplemented);
    assert_eq!(voting.counted("emojivoto_requests_total", ""), 0);
}
