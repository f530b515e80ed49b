//! Calls over HTTP/1.1, as bytes.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::TIMEOUT;

/// The head of a gRPC-Web call over HTTP/1.1 with a body of `length` bytes and these additional headers.
pub fn web(method: &str, headers: &str, length: usize) -> String {
    let path = format!("/floors.v1.FloorService/{method}");
    web_of(&path, "application/grpc-web+proto", &format!("content-length: {length}\r\n{headers}"))
}

/// The head of a call over HTTP/1.1 with this content type and these additional headers.
pub fn web_of(path: &str, content_type: &str, headers: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: floors\r\norigin: http://game.example\r\n\
         content-type: {content_type}\r\n{headers}\r\n"
    )
}

/// One HTTP/1.1 exchange over a new connection. Returns status, headers as text, and the body without chunk framing.
pub fn http1(address: &str, head: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    parsed(&answer)
}

/// Parses an HTTP/1.1 response: status, headers as text, and the body without chunk framing.
pub fn parsed(answer: &[u8]) -> (u16, String, Vec<u8>) {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("headers end") + 4;
    let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = &answer[end..];
    let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_vec() };
    (status, head, body)
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|window| window == b"\r\n").expect("a chunk's length");
        let length = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[line + 2..line + 2 + length]);
        body = &body[line + 2 + length + 2..];
    }
}
