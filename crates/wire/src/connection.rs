//! One connection of a client: one request at a time.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::{Decodable, Encodable};

use crate::Malformed;
use crate::codec::{self, read_response_header, request_frame};
use crate::frame::{FRAME_MAX, Frame, read_frame, write_frame};

/// What the client calls itself.
const CLIENT_ID: &str = "eosim";

/// A connection to a broker.
pub(crate) struct Connection {
    stream: TcpStream,
    correlation_id: i32,
}

impl Connection {
    /// Connects; every answer must come within `patience`.
    pub(crate) fn open(address: &str, patience: Duration) -> io::Result<Self> {
        let address = address.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::other("the name has no address"))?;
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self { stream, correlation_id: 0 })
    }

    /// Sends the body of a request.
    pub(crate) fn send(&mut self, key: ApiKey, version: i16, body: &[u8]) -> io::Result<()> {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let frame = request_frame(key, version, self.correlation_id, CLIENT_ID, body);
        write_frame(&mut self.stream, &frame.map_err(invalid)?)
    }

    /// The body of the next answer.
    pub(crate) fn receive(&mut self, key: ApiKey, version: i16) -> io::Result<Bytes> {
        let Frame::Bytes(frame) = read_frame(&mut self.stream, FRAME_MAX)? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let mut frame = Bytes::from(frame);
        let correlation_id = read_response_header(key, version, &mut frame).map_err(invalid)?;
        if correlation_id != self.correlation_id {
            return Err(invalid(Malformed::new("the answer to another request")));
        }
        Ok(frame)
    }

    /// Sends a request of which the model knows nothing, and reads the answer.
    pub(crate) fn call<T: Decodable>(
        &mut self,
        key: ApiKey,
        version: i16,
        request: &impl Encodable,
    ) -> io::Result<T> {
        self.send(key, version, &codec::encode(request, version).map_err(invalid)?)?;
        codec::decode(key, version, self.receive(key, version)?).map_err(invalid)
    }
}

pub(crate) fn invalid(malformed: Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, malformed.0)
}
