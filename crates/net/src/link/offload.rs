//! The virtio header before every piece: how many packets it is, and how many bytes they are on a wire.

/// Bytes of the header (`struct virtio_net_hdr`, Virtual I/O Device 1.2 §5.1.6, legacy form without `num_buffers`).
pub(super) const HEADER_BYTES: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the header then has the offset of TCP.
const NEEDS_CHECKSUM: u8 = 1;
/// Without the ECN bit.
const TYPE_MASK: u8 = 0x7f;
const TYPE_NONE: u8 = 0;

/// Segmentation offload (TSO): whether several packets of a stream cross as one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offload {
    /// Pieces of up to 64 KiB, as the kernel hands them over.
    On,
    /// Packets as on a wire.
    Off,
}

/// Packets and bytes of a piece on a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WireSize {
    pub packets: u64,
    /// Bytes of all IP packets with their headers.
    pub bytes: u64,
}

impl WireSize {
    /// Reads a piece with its virtio header; `None` if it is too short.
    pub(crate) fn of(piece: &[u8]) -> Option<Self> {
        let (header, packet) = piece.split_at_checked(HEADER_BYTES)?;
        if packet.is_empty() {
            return None;
        }
        let bytes = packet.len() as u64;
        let single = Self { packets: 1, bytes };
        let segment = u64::from(u16::from_ne_bytes([header[4], header[5]]));
        if header[1] & TYPE_MASK == TYPE_NONE || segment == 0 || header[0] & NEEDS_CHECKSUM == 0 {
            return Some(single);
        }
        // The virtio header's `hdr_len` is a hint only; the length is TCP's data offset (RFC 9293 §3.1).
        let tcp = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        let Some(offset) = packet.get(tcp + 12) else {
            return Some(single);
        };
        let heads = tcp as u64 + u64::from(offset >> 4) * 4;
        let payload = bytes.saturating_sub(heads);
        let packets = payload.div_ceil(segment).max(1);
        Some(Self {
            packets,
            bytes: bytes + (packets - 1) * heads,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP piece over IPv4: flags, type, segment size, checksum start; 20 bytes of IP, 32 of TCP, then data.
    fn piece(kind: u8, segment: u16, data: usize) -> Vec<u8> {
        let mut piece = vec![0; HEADER_BYTES + 52 + data];
        piece[0] = NEEDS_CHECKSUM;
        piece[1] = kind;
        piece[4..6].copy_from_slice(&segment.to_ne_bytes());
        piece[6..8].copy_from_slice(&20_u16.to_ne_bytes());
        piece[HEADER_BYTES + 32] = 8 << 4;
        piece
    }

    #[test]
    fn a_single_packet_is_itself() {
        let found = WireSize::of(&piece(0, 0, 100));
        assert_eq!(
            found,
            Some(WireSize {
                packets: 1,
                bytes: 152
            })
        );
    }

    #[test]
    fn a_piece_of_many_counts_the_headers_that_cutting_adds() {
        // 3 × 1448 + 1 bytes: four packets.
        let found = WireSize::of(&piece(1, 1448, 3 * 1448 + 1));
        let bytes = 3 * 1448 + 1 + 4 * 52;
        assert_eq!(found, Some(WireSize { packets: 4, bytes }));
        // With the congestion bit beside the type it is the same.
        assert_eq!(WireSize::of(&piece(0x81, 1448, 3 * 1448 + 1)), found);
    }

    #[test]
    fn nonsense_is_a_single_packet_or_nothing() {
        assert_eq!(WireSize::of(&[0; HEADER_BYTES]), None);
        assert_eq!(WireSize::of(&[]), None);
        let mut wrong = piece(1, 1448, 5000);
        wrong[6..8].copy_from_slice(&60_000_u16.to_ne_bytes());
        assert_eq!(WireSize::of(&wrong).map(|on| on.packets), Some(1));
    }
}
