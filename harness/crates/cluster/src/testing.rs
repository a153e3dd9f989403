//! Small in-process proxies for tests.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A proxy and the requests it has received.
pub struct TestProxy {
    /// Where it listens.
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

/// The protocol of the proxy.
#[derive(Clone)]
pub enum ProxyProtocol {
    /// HTTP CONNECT.
    Connect,
    /// HTTP CONNECT over TLS.
    ConnectOverTls(TlsAcceptor),
    /// SOCKS, with the required name and password, if any.
    Socks(Option<&'static str>),
}

impl TestProxy {
    /// Starts a proxy on loopback.
    pub async fn start(form: ProxyProtocol) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("the test's proxy works");
        let address = listener.local_addr().expect("the test's proxy works");
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (form, log) = (form.clone(), Arc::clone(&log));
                tokio::spawn(async move {
                    match form {
                        ProxyProtocol::Connect => connect(client, &log).await,
                        ProxyProtocol::ConnectOverTls(tls) => match tls.accept(client).await {
                            Ok(client) => connect(client, &log).await,
                            Err(error) => Err(error),
                        },
                        ProxyProtocol::Socks(user) => socks(client, user, &log).await,
                    }
                });
            }
        });
        Self { address, requests, task }
    }

    /// The addresses and credentials in the requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the test's proxy works").clone()
    }
}

impl Drop for TestProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(mut client: impl AsyncRead + AsyncWrite + Unpin, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let lines = head.lines().filter(|line| line.to_lowercase().starts_with("proxy-authorization: "));
    let credentials: String =
        lines.map(|line| format!(" {}", line.split(' ').next_back().unwrap_or_default())).collect();
    log.lock().expect("the test's proxy works").push(format!("CONNECT {target}{credentials}"));
    let mut server = TcpStream::connect(target).await?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

async fn socks(mut client: TcpStream, user: Option<&str>, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let of_length = async |client: &mut TcpStream| {
        let mut bytes = vec![0; usize::from(client.read_u8().await?)];
        client.read_exact(&mut bytes).await?;
        std::io::Result::Ok(bytes)
    };
    let _version = client.read_u8().await?;
    let methods = of_length(&mut client).await?;
    let method = if user.is_some() { 2 } else { 0 };
    if !methods.contains(&method) {
        return client.write_all(&[5, 0xff]).await;
    }
    client.write_all(&[5, method]).await?;
    if let Some(user) = user {
        let _version = client.read_u8().await?;
        let name = of_length(&mut client).await?;
        let password = of_length(&mut client).await?;
        let given = format!("{}:{}", String::from_utf8_lossy(&name), String::from_utf8_lossy(&password));
        client.write_all(&[1, u8::from(given != user)]).await?;
    }
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let host = if head[3] == 1 {
        let mut address = [0; 4];
        client.read_exact(&mut address).await?;
        Ipv4Addr::from(address).to_string()
    } else {
        String::from_utf8_lossy(&of_length(&mut client).await?).into_owned()
    };
    let target = format!("{host}:{}", client.read_u16().await?);
    log.lock().expect("the test's proxy works").push(format!("SOCKS {target}"));
    let mut server = TcpStream::connect(target).await?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}
