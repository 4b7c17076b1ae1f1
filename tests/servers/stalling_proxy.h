// For tests: a way to a server on which a client can stop in the middle of what it sends.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>

namespace strand::sim {

/// Takes one connection at `port` after the other and passes on what both sides say, until the client has
/// said `word`: of what it says behind that message nothing arrives, and the connection stays open, as when
/// its process is stopped.
class StallingProxy {
 public:
  StallingProxy(uint16_t server, std::string word) : server_(server), word_(std::move(word)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { pass(); });
  }
  StallingProxy(const StallingProxy&) = delete;
  ~StallingProxy() {
    over_ = true;
    thread_.join();
    close(listener_);
  }
  uint16_t port() const { return port_; }
  bool stalled() const { return stalled_; }

 private:
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  bool readable(int fd) const {
    pollfd waiting{fd, POLLIN, 0};
    return poll(&waiting, 1, 10) > 0;
  }
  void pass() {
    while (!over_) {
      if (readable(listener_)) pass(accept(listener_, nullptr, nullptr));
    }
  }
  void pass(int client) {
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(server_);
    EXPECT_EQ(::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    bool open = true;
    while ((open || stalled_) && !over_) {
      if (!stalled_ && readable(client)) open = forward(client, server, true);
      if (open && readable(server)) open = forward(server, client, false);
    }
    close(client);
    close(server);
  }
  bool forward(int from, int to, bool watched) {
    std::array<char, 1 << 16> bytes{};
    const ssize_t read = recv(from, bytes.data(), bytes.size(), 0);
    if (read <= 0) return false;
    const std::string_view said(bytes.data(), static_cast<size_t>(read));
    if (watched && said.find(word_) != std::string_view::npos) stalled_ = true;
    return ::send(to, said.data(), said.size(), MSG_NOSIGNAL) == read;
  }

  const uint16_t server_;
  const std::string word_;
  uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stalled_{false};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace strand::sim
