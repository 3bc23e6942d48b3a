//! Sockets: a port for each broker, two threads for each connection, limits for strangers.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use eosim_types::BrokerId;

use super::http::{self, Asked};
use super::session::{ConnectionId, Input, Output};
use crate::frame::{Frame, read_frame, write_frame};

/// How long a connection may be silent between two requests (`connections.max.idle.ms`).
const IDLE: Duration = Duration::from_secs(600);
/// How long an answer may take to be taken.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many answers wait for a client that does not read before it is given up.
const ANSWERS_MAX: usize = 256;
/// How many requests wait for the cluster before nobody is read from.
const REQUESTS_MAX: usize = 4_096;
/// Stack of a connection's threads, bytes.
const STACK: usize = 256 << 10;
/// How long a connection to a dead broker may take to say something.
const REFUSED_WITHIN: Duration = Duration::from_millis(100);
/// How often a reader looks whether there is room again.
const ROOM_EVERY: Duration = Duration::from_millis(2);

/// What strangers may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatewayLimits {
    /// The largest request, bytes.
    pub frame: usize,
    /// Connections at a time.
    pub connections: usize,
    /// Bytes of requests that were read and not taken.
    pub memory: usize,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self { frame: 16 << 20, connections: 1_000, memory: 256 << 20 }
    }
}

/// What all threads share.
struct Shared {
    limits: GatewayLimits,
    open: AtomicUsize,
    unread: AtomicUsize,
    next: AtomicUsize,
    /// Which brokers are dead.
    down: BTreeMap<BrokerId, AtomicBool>,
    inputs: SyncSender<Event>,
}

/// What threads tell.
pub(super) enum Event {
    /// Somebody looks, or acts.
    Asked(Asked),
    /// Something for the cluster.
    Input(Input),
    /// A connection, with where its answers go.
    Connected(ConnectionId, BrokerId, SyncSender<Bytes>, TcpStream),
    /// A line for the log.
    Line(String),
}

/// An open connection.
struct Answers {
    to: SyncSender<Bytes>,
    stream: TcpStream,
}

/// All ports.
pub(super) struct Gateway {
    endpoints: BTreeMap<BrokerId, (String, u16)>,
    events: Receiver<Event>,
    answers: BTreeMap<ConnectionId, Answers>,
    shared: Arc<Shared>,
    lines: Vec<String>,
    /// Who waits for answers about the session, in order.
    looking: VecDeque<SyncSender<(u16, String)>>,
}

impl Gateway {
    /// Listens for `brokers` brokers from `listen` on.
    pub(super) fn open(
        listen: SocketAddr,
        brokers: u32,
        limits: GatewayLimits,
        control: Option<SocketAddr>,
        tell: &mut dyn FnMut(&str),
    ) -> io::Result<Self> {
        let (inputs, events) = sync_channel(REQUESTS_MAX);
        let (open, unread, next) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let ids = (1..=brokers).filter_map(|number| i32::try_from(number).ok()).map(BrokerId);
        let down = ids.map(|id| (id, AtomicBool::new(false))).collect();
        let shared = Arc::new(Shared { limits, open, unread, next, down, inputs });
        if let Some(address) = control {
            let address = http::listen(address, shared.inputs.clone())?;
            tell(&format!("control at http://{address}"));
        }
        let mut endpoints = BTreeMap::new();
        for number in 1..=brokers {
            let broker = BrokerId(i32::try_from(number).map_err(io::Error::other)?);
            let offset = u16::try_from(number - 1).map_err(io::Error::other)?;
            let port = match listen.port() {
                0 => 0,
                port => port.checked_add(offset).ok_or_else(|| io::Error::other("no such port"))?,
            };
            let listener = TcpListener::bind(SocketAddr::new(listen.ip(), port))
                .map_err(|error| io::Error::new(error.kind(), format!("port {port}: {error}")))?;
            let port = listener.local_addr()?.port();
            endpoints.insert(broker, (host(listen.ip()), port));
            let shared = Arc::clone(&shared);
            thread::Builder::new().spawn(move || accept(&listener, broker, &shared))?;
        }
        let (answers, lines, looking) = (BTreeMap::new(), Vec::new(), VecDeque::new());
        Ok(Self { endpoints, events, answers, shared, lines, looking })
    }

    pub(super) fn endpoints(&self) -> BTreeMap<BrokerId, (String, u16)> {
        self.endpoints.clone()
    }

    /// From now on a broker is dead, or lives.
    pub(super) fn set_up(&self, broker: BrokerId, up: bool) {
        if let Some(down) = self.shared.down.get(&broker) {
            down.store(!up, Ordering::Relaxed);
        }
    }

    /// The next input.
    pub(super) fn next(&mut self, patience: Duration) -> Result<Input, RecvTimeoutError> {
        loop {
            let event = self.events.recv_timeout(patience)?;
            if let Some(input) = self.input(event) {
                return Ok(input);
            }
        }
    }

    /// Inputs that are there already.
    pub(super) fn ready(&mut self) -> impl Iterator<Item = Input> + '_ {
        std::iter::from_fn(|| {
            loop {
                let event = self.events.try_recv().ok()?;
                if let Some(input) = self.input(event) {
                    return Some(input);
                }
            }
        })
    }

    fn input(&mut self, event: Event) -> Option<Input> {
        match event {
            Event::Input(input) => {
                match &input {
                    Input::Frame(_, frame) => {
                        self.shared.unread.fetch_sub(frame.len(), Ordering::Relaxed);
                    }
                    Input::Closed(id) => drop(self.answers.remove(id)),
                    Input::Opened(..) | Input::Control(..) => {}
                }
                Some(input)
            }
            Event::Connected(id, broker, to, stream) => {
                self.answers.insert(id, Answers { to, stream });
                Some(Input::Opened(id, broker))
            }
            Event::Asked(Asked { method, path, body, answer }) => {
                self.looking.push_back(answer);
                Some(Input::Control(method, path, body))
            }
            Event::Line(line) => {
                self.lines.push(line);
                None
            }
        }
    }

    /// Sends an answer or closes a connection.
    pub(super) fn put(&mut self, output: Output, tell: &mut dyn FnMut(&str)) {
        match output {
            Output::Told(status, text) => {
                if let Some(answer) = self.looking.pop_front() {
                    let _ = answer.try_send((status, text));
                }
            }
            Output::Frame(id, frame) => {
                let Some(answers) = self.answers.get(&id) else { return };
                if let Err(TrySendError::Full(_)) = answers.to.try_send(frame) {
                    tell(&format!("connection {id}: closed, it does not read its answers"));
                    self.close(id);
                }
            }
            Output::Close(id, why) => {
                if let Some(why) = why {
                    tell(&format!("connection {id}: closed, {why}"));
                }
                self.close(id);
            }
        }
    }

    /// Lines that threads have for the log.
    pub(super) fn tell_lines(&mut self, tell: &mut dyn FnMut(&str)) {
        self.lines.drain(..).for_each(|line| tell(&line));
    }

    fn close(&mut self, id: ConnectionId) {
        if let Some(answers) = self.answers.remove(&id) {
            // Its reader notices, and tells.
            let _ = answers.stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// How clients are told to reach an address.
fn host(ip: IpAddr) -> String {
    if ip.is_unspecified() { "127.0.0.1".to_string() } else { ip.to_string() }
}

fn accept(listener: &TcpListener, broker: BrokerId, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        if shared.down.get(&broker).is_some_and(|down| down.load(Ordering::Relaxed)) {
            refuse(&stream);
            continue;
        }
        if shared.open.fetch_add(1, Ordering::Relaxed) >= shared.limits.connections {
            shared.open.fetch_sub(1, Ordering::Relaxed);
            let line = format!("broker-{broker}: a connection refused, there are too many");
            if shared.inputs.send(Event::Line(line)).is_err() {
                return;
            }
            continue;
        }
        let id = shared.next.fetch_add(1, Ordering::Relaxed) as ConnectionId;
        if connect(stream, id, broker, shared).is_err() {
            shared.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A process that is dead listens no more. Here the port stays taken: what was sent and not read makes
/// that the connection is reset, which clients take for a refusal, and an end of file not always.
fn refuse(stream: &TcpStream) {
    let patience = stream.set_read_timeout(Some(REFUSED_WITHIN));
    let _ = patience.and_then(|()| stream.peek(&mut [0]));
}

/// Starts the threads of a connection.
fn connect(
    stream: TcpStream,
    id: ConnectionId,
    broker: BrokerId,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(IDLE))?;
    let (to, answers) = sync_channel::<Bytes>(ANSWERS_MAX);
    let mut writing = stream.try_clone()?;
    let closing = stream.try_clone()?;
    let event = Event::Connected(id, broker, to, closing);
    shared.inputs.send(event).map_err(io::Error::other)?;
    thread::Builder::new().stack_size(STACK).spawn(move || {
        for frame in answers {
            if write_frame(&mut writing, &frame).is_err() {
                break;
            }
        }
        let _ = writing.shutdown(std::net::Shutdown::Both);
    })?;
    let shared = Arc::clone(shared);
    thread::Builder::new().stack_size(STACK).spawn(move || {
        let why = read(stream, id, &shared);
        if let Some(why) = why {
            let line = format!("connection {id}: {why}");
            let _ = shared.inputs.send(Event::Line(line));
        }
        let _ = shared.inputs.send(Event::Input(Input::Closed(id)));
        shared.open.fetch_sub(1, Ordering::Relaxed);
    })?;
    Ok(())
}

/// Reads requests until the connection ends; a reason if that is worth a line.
fn read(mut stream: TcpStream, id: ConnectionId, shared: &Shared) -> Option<String> {
    loop {
        match read_frame(&mut stream, shared.limits.frame) {
            Ok(Frame::Bytes(bytes)) => {
                while shared.unread.load(Ordering::Relaxed) > shared.limits.memory {
                    thread::sleep(ROOM_EVERY);
                }
                shared.unread.fetch_add(bytes.len(), Ordering::Relaxed);
                let input = Input::Frame(id, Bytes::from(bytes));
                shared.inputs.send(Event::Input(input)).ok()?;
            }
            Ok(Frame::End) => return None,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}
