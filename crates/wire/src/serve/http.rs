//! The least of HTTP/1.1 that a tool needs: one request a connection, bodies of known length.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::gateway::Event;

/// The largest body, bytes.
const BODY_MAX: u64 = 1 << 20;
/// The largest line or header, bytes.
const LINE_MAX: u64 = 8 << 10;
/// How many headers are read.
const HEADERS_MAX: usize = 100;
/// How long a request, and its answer, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request that waits for its answer.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: String,
    pub(super) answer: SyncSender<(u16, String)>,
}

/// Listens at `address`; requests go to `events`.
pub(super) fn listen(address: SocketAddr, events: SyncSender<Event>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    thread::Builder::new().spawn(move || {
        for stream in listener.incoming().flatten() {
            // One after the other: a slow one holds up nobody but those who look.
            let _ = serve(stream, &events);
        }
    })?;
    Ok(address)
}

fn serve(mut stream: TcpStream, events: &SyncSender<Event>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (to, answer) = sync_channel(1);
    let (status, text) = match read(&stream, to) {
        Ok(asked) => {
            events.send(Event::Asked(asked)).map_err(io::Error::other)?;
            answer.recv_timeout(PATIENCE).map_err(io::Error::other)?
        }
        Err(error) => (400, format!("{{\"error\":\"{error}\"}}")),
    };
    let reason = if status == 200 { "OK" } else { "Refused" };
    let length = text.len() + 1;
    write!(
        stream,
        "HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    )
}

fn read(stream: &TcpStream, answer: SyncSender<(u16, String)>) -> io::Result<Asked> {
    let mut from = BufReader::new(stream);
    let first = line(&mut from)?;
    let mut words = first.split_whitespace().map(String::from);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::Error::other("no request"));
    };
    let mut length = 0;
    for _ in 0..HEADERS_MAX {
        let header = line(&mut from)?;
        let Some((name, value)) = header.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(u64::MAX);
        }
    }
    if length > BODY_MAX {
        return Err(io::Error::other("too long a body"));
    }
    let mut body = String::new();
    from.take(length).read_to_string(&mut body)?;
    Ok(Asked { method, path, body, answer })
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.take(LINE_MAX).read_line(&mut line)?;
    Ok(line.trim_end().to_string())
}
