// For tests: a way to a server on which a client can stop in the middle of what it sends.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <utility>

namespace strand::sim {

/// Takes connections at `port` and passes on what both sides say, until a client has said `word`: of what it
/// says behind that message nothing arrives, and the connection stays open, as when its process is stopped.
/// `holds`: nor does that message, until `release`. From then on further connections pass.
class StallingProxy {
 public:
  StallingProxy(uint16_t server, std::string word, bool holds = false)
      : server_(server), word_(std::move(word)), holds_(holds) {
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
    for (const Pair& pair : pairs_) pair.end();
    close(listener_);
  }
  uint16_t port() const { return port_; }
  bool stalled() const { return stalled_; }
  /// What was held arrives, and its answer is there when this returns.
  void release() {
    release_ = true;
    while (release_) std::this_thread::yield();
  }

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
    return poll(&waiting, 1, 1) > 0;
  }
  /// The two sides of one connection.
  struct Pair {
    int client;
    int server;
    bool open = true;
    bool stalled = false;
    std::string held = {};
    void end() const {
      close(client);
      close(server);
    }
  };

  void pass() {
    while (!over_) {
      if (readable(listener_)) pairs_.push_back(connected(accept(listener_, nullptr, nullptr)));
      for (Pair& pair : pairs_) {
        if (pair.open && !pair.stalled && readable(pair.client)) pair.open = say(pair);
        if (pair.open && readable(pair.server)) pair.open = answer(pair);
      }
      if (release_) deliver();
    }
  }
  Pair connected(int client) const {
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(server_);
    EXPECT_EQ(::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return {client, server};
  }
  static std::string received(int from) {
    std::string bytes(1 << 16, ' ');
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, recv(from, bytes.data(), bytes.size(), 0))));
    return bytes;
  }
  static bool sent(int to, const std::string& bytes) {
    return ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  bool say(Pair& pair) {
    const std::string said = received(pair.client);
    if (said.empty()) return false;
    if (!stalled_ && said.find(word_) != std::string::npos) {
      stalled_ = pair.stalled = true;
      if (holds_) {
        pair.held = said;
        return true;
      }
    }
    return sent(pair.server, said);
  }
  static bool answer(Pair& pair) {
    const std::string said = received(pair.server);
    // Nobody may be left to hear it.
    if (!said.empty()) static_cast<void>(sent(pair.client, said));
    return !said.empty();
  }
  void deliver() {
    for (Pair& pair : pairs_) {
      if (pair.held.empty()) continue;
      EXPECT_TRUE(sent(pair.server, std::exchange(pair.held, {})));
      EXPECT_FALSE(received(pair.server).empty());
    }
    release_ = false;
  }

  const uint16_t server_;
  const std::string word_;
  const bool holds_;
  uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stalled_{false};
  std::atomic<bool> release_{false};
  std::atomic<bool> over_{false};
  std::deque<Pair> pairs_;
  std::thread thread_;
};

}  // namespace strand::sim
