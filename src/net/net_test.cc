#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <thread>

#include "net/address.h"
#include "net/any_channel.h"
#include "net/lent_channel.h"
#include "net/listener.h"
#include "net/poller.h"

namespace postern::net {
namespace {

TEST(Address, ParsesNumericHostsOnly) {
  Address address;
  std::string error;
  EXPECT_TRUE(Address::parse("127.0.0.1", 80, address, error));
  EXPECT_EQ(address.print(), "127.0.0.1:80");
  EXPECT_TRUE(Address::parse("", 80, address, error));
  EXPECT_EQ(address.print(), "0.0.0.0:80");
  EXPECT_TRUE(Address::parse("::1", 80, address, error));
  EXPECT_EQ(address.print(), "[::1]:80");
  EXPECT_TRUE(Address::parse("[::]", 80, address, error));
  EXPECT_EQ(address.print(), "[::]:80");
  for (const char *const bad : {"localhost", "1.2.3", "1.2.3.4.5", "[", "[]", "::1]", "fe80::zz"}) {
    error.clear();
    EXPECT_FALSE(Address::parse(bad, 80, address, error)) << bad;
    EXPECT_NE(error.find(bad), std::string::npos);
  }
}

TEST(Address, KnowsLoopback) {
  Address address;
  std::string error;
  const auto loopback = [&](const char *host) {
    EXPECT_TRUE(Address::parse(host, 1, address, error)) << host;
    return address.is_loopback();
  };
  EXPECT_TRUE(loopback("127.0.0.1"));
  EXPECT_TRUE(loopback("127.9.9.9"));
  EXPECT_TRUE(loopback("::1"));
  EXPECT_TRUE(loopback("::ffff:127.0.0.1"));
  EXPECT_FALSE(loopback(""));
  EXPECT_FALSE(loopback("::"));
  EXPECT_FALSE(loopback("128.0.0.1"));
  EXPECT_FALSE(loopback("::ffff:10.0.0.1"));
  EXPECT_TRUE(Address::parse_unix("/tmp/x", address, error));
  EXPECT_TRUE(address.is_loopback());
}

TEST(Address, UnixPathsAreBounded) {
  Address address;
  std::string error;
  EXPECT_TRUE(Address::parse_unix(std::string(107, 'p'), address, error));
  EXPECT_EQ(address.print(), std::string(107, 'p'));
  EXPECT_FALSE(Address::parse_unix(std::string(108, 'p'), address, error));
  EXPECT_FALSE(Address::parse_unix("", address, error));
}

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() : path_("/tmp/postern-net-" + std::to_string(::getpid()) + ".sock") { ::unlink(path_.c_str()); }
  ~ListenerTest() override { ::unlink(path_.c_str()); }

  bool listen(Listener &listener, const ListenOptions &options = {}) {
    Address address;
    return Address::parse_unix(path_, address, error_) && open(listener, address, options);
  }
  bool open(Listener &listener, const Address &address, const ListenOptions &options = {}) {
    return listener.bind(address, options, error_) && listener.listen(error_);
  }
  static Fd connect(const Address &address) {
    Fd fd(::socket(address.family(), SOCK_STREAM, 0));
    if (::connect(fd.get(), address.get(), address.size()) != 0) fd.reset();
    return fd;
  }

  const std::string path_;
  std::string error_;
};

TEST_F(ListenerTest, AcceptsWithoutBlocking) {
  Listener listener;
  ASSERT_TRUE(listen(listener)) << error_;
  EXPECT_FALSE(listener.accept());
  EXPECT_EQ(errno, EAGAIN);
  const Fd client = connect(listener.address());
  ASSERT_TRUE(client);
  const Fd accepted = listener.accept();
  ASSERT_TRUE(accepted);
  EXPECT_NE(::fcntl(accepted.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(accepted.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(ListenerTest, ConnectionsOfTcpSendWithoutDelay) {
  Address any;
  ASSERT_TRUE(Address::parse("127.0.0.1", 0, any, error_));
  Listener listener;
  ASSERT_TRUE(listener.bind(any, {}, error_) && listener.listen(error_)) << error_;
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ASSERT_EQ(::getsockname(listener.fd(), reinterpret_cast<sockaddr *>(&bound), &size), 0);
  Address port;
  ASSERT_TRUE(Address::parse("127.0.0.1", ntohs(bound.sin_port), port, error_));
  const Fd client = connect(port);
  pollfd waits{.fd = listener.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&waits, 1, 20'000), 1);
  const Fd accepted = listener.accept();
  ASSERT_TRUE(accepted);
  int no_delay = 0;
  socklen_t no_delay_size = sizeof no_delay;
  ASSERT_EQ(::getsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &no_delay_size), 0);
  EXPECT_EQ(no_delay, 1);
}

TEST_F(ListenerTest, RefusesClientsBeforeItListens) {
  Address any;
  ASSERT_TRUE(Address::parse("127.0.0.1", 0, any, error_));
  Listener tcp;
  ASSERT_TRUE(tcp.bind(any, {}, error_)) << error_;
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ASSERT_EQ(::getsockname(tcp.fd(), reinterpret_cast<sockaddr *>(&bound), &size), 0);
  Address port;
  ASSERT_TRUE(Address::parse("127.0.0.1", ntohs(bound.sin_port), port, error_));
  Address path;
  ASSERT_TRUE(Address::parse_unix(path_, path, error_));
  Listener local;
  ASSERT_TRUE(local.bind(path, {}, error_)) << error_;
  for (Listener *const listener : {&tcp, &local}) {
    const Address &address = listener == &tcp ? port : path;
    EXPECT_FALSE(connect(address));
    EXPECT_EQ(errno, ECONNREFUSED);
    ASSERT_TRUE(listener->listen(error_)) << error_;
    EXPECT_TRUE(connect(address));
  }
}

TEST_F(ListenerTest, ReplacesASocketFileThatNobodyAnswersOn) {
  {
    const Fd crashed(::socket(AF_UNIX, SOCK_STREAM, 0));
    Address address;
    ASSERT_TRUE(Address::parse_unix(path_, address, error_));
    ASSERT_EQ(::bind(crashed.get(), address.get(), address.size()), 0);
  }
  Listener listener;
  EXPECT_TRUE(listen(listener)) << error_;
  EXPECT_TRUE(connect(listener.address()));
}

TEST_F(ListenerTest, LeavesAFileThatIsNotItsOwn) {
  Listener first;
  ASSERT_TRUE(listen(first)) << error_;
  Listener second;
  EXPECT_FALSE(listen(second));
  EXPECT_NE(error_.find("in use"), std::string::npos) << error_;
  EXPECT_TRUE(connect(first.address())) << "the first must still be reachable";
  first.close();
  const Fd plain(::open(path_.c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_FALSE(listen(second));
  struct stat status;
  EXPECT_EQ(::stat(path_.c_str(), &status), 0);
}

TEST_F(ListenerTest, UnixSocketHasItsModeAndIsRemoved) {
  struct stat status;
  {
    Listener listener;
    ListenOptions options;
    options.unix_mode = 0640;
    ASSERT_TRUE(listen(listener, options)) << error_;
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640u);
    Listener moved(std::move(listener));
    listener.close();
    EXPECT_EQ(::stat(path_.c_str(), &status), 0) << "the file belongs to the one it was moved to";
  }
  EXPECT_NE(::stat(path_.c_str(), &status), 0);
}

TEST_F(ListenerTest, TcpPortCanBeUsedAgainAtOnce) {
  Address any;
  ASSERT_TRUE(Address::parse("127.0.0.1", 0, any, error_));
  Listener first;
  ASSERT_TRUE(open(first, any)) << error_;
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ASSERT_EQ(::getsockname(first.fd(), reinterpret_cast<sockaddr *>(&bound), &size), 0);
  Address same;
  ASSERT_TRUE(Address::parse("127.0.0.1", ntohs(bound.sin_port), same, error_));
  Listener second;
  EXPECT_FALSE(open(second, same));
  EXPECT_NE(error_.find(same.print()), std::string::npos) << error_;
  const Fd client = connect(same);
  first.accept().reset();  // our side closes first, which leaves TIME_WAIT
  first.close();
  EXPECT_TRUE(open(second, same)) << error_;
}

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() : channel_(ends(peer_)) {}
  static Fd ends(Fd &peer) {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    peer.reset(fds[1]);
    return Fd(fds[0]);
  }

  Fd peer_;
  AnyChannel channel_;
  Input input_;
  Output output_;
};

TEST_F(ChannelTest, ReceivesOnceAndSaysWhatHappened) {
  EXPECT_EQ(channel_.receive(input_, 100).result, Transfer::Result::would_block);
  ASSERT_EQ(::send(peer_.get(), "hello", 5, 0), 5);
  const Transfer got = channel_.receive(input_, 100);
  EXPECT_EQ(got.result, Transfer::Result::some);
  EXPECT_EQ(got.bytes, 5u);
  EXPECT_EQ(Bytes(input_.unparsed().data(), input_.unparsed_bytes()), "hello");
  peer_.reset();
  EXPECT_EQ(channel_.receive(input_, 100).result, Transfer::Result::ended);
  EXPECT_EQ(channel_.receive(input_, limits::block_bytes_max).result, Transfer::Result::no_memory);
}

TEST_F(ChannelTest, ShortSendsLeaveTheRestInPlace) {
  std::string text;
  for (int i = 0; text.size() < (size_t{1} << 20); ++i) text += std::to_string(i) + " ";
  output_.put(text);
  EXPECT_EQ(channel_.send(output_).bytes, 0u) << "nothing was released yet";
  output_.release();
  std::string got;
  bool blocked = false;
  while (got.size() < text.size()) {
    const Transfer put = channel_.send(output_);
    ASSERT_NE(put.result, Transfer::Result::failed);
    blocked = blocked || put.result == Transfer::Result::would_block;
    char piece[5'000];
    const ssize_t bytes = ::recv(peer_.get(), piece, sizeof piece, 0);
    if (bytes > 0) got.append(piece, static_cast<size_t>(bytes));
  }
  EXPECT_TRUE(got == text);
  EXPECT_TRUE(blocked);
  EXPECT_EQ(output_.pending_bytes(), 0u);
}

TEST_F(ChannelTest, SendToAPeerThatLeftFailsWithoutASignal) {
  peer_.reset();
  output_.put("x");
  output_.release();
  EXPECT_EQ(channel_.send(output_).result, Transfer::Result::failed);
}

TEST_F(ChannelTest, PresenceDistinguishesAnEndFromAPeerThatIsGone) {
  EXPECT_EQ(channel_.presence(), Presence::there);
  ASSERT_EQ(::send(peer_.get(), "unread", 6, 0), 6);
  EXPECT_EQ(channel_.presence(), Presence::there);
  ASSERT_EQ(::shutdown(peer_.get(), SHUT_WR), 0);
  EXPECT_EQ(channel_.presence(), Presence::ended);
  peer_.reset();
  EXPECT_EQ(channel_.presence(), Presence::gone);
}

TEST(LentChannel, LeavesTheSocketWhatFollowsItsFirstBytes) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  const Fd owner(fds[0]);
  const Fd peer(fds[1]);
  LentChannel channel(owner.get(), nullptr);
  channel.receive_at_first(4);
  Input input;
  ASSERT_EQ(::send(peer.get(), "ab", 2, 0), 2);
  EXPECT_EQ(channel.receive(input, 100).bytes, 2U);
  ASSERT_EQ(::send(peer.get(), "cdefg", 5, 0), 5);
  const Transfer got = channel.receive(input, 100);
  EXPECT_EQ(got.bytes, 2U);
  EXPECT_TRUE(got.filled) << "there may be more";
  EXPECT_EQ(channel.receive(input, 100).bytes, 3U);
  EXPECT_EQ(input.unparsed_bytes(), 7U);
}

TEST(Poller, WakesFromAnotherThread) {
  Poller poller;
  WakeFd wake;
  int tag = 0;
  ASSERT_TRUE(poller.add(wake.fd(), Poller::readable, &tag));
  epoll_event events[2];
  EXPECT_EQ(poller.wait(events, 0), 0u);
  std::thread waker([&] { wake.wake(); });
  ASSERT_EQ(poller.wait(events, 10'000), 1u);
  EXPECT_EQ(events[0].data.ptr, &tag);
  waker.join();
  EXPECT_EQ(poller.wait(events, 0), 1u) << "level-triggered: it stays until drained";
  wake.drain();
  EXPECT_EQ(poller.wait(events, 0), 0u);
  ASSERT_TRUE(poller.change(wake.fd(), 0, &tag));
  wake.wake();
  EXPECT_EQ(poller.wait(events, 0), 0u);
  poller.remove(wake.fd());
}

TEST(Poller, TellsOnceOfEachWakeThatNobodyDrains) {
  Poller poller;
  WakeFd wake;
  ASSERT_TRUE(poller.add(wake.fd(), Poller::readable | Poller::once_each, nullptr));
  epoll_event events[2];
  EXPECT_EQ(poller.wait(events, 0), 0u);
  for (int i = 0; i < 3; ++i) {
    wake.wake();
    wake.wake();
    pollfd asked{.fd = poller.fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&asked, 1, 0), 1) << "others that watch the poller see it";
    EXPECT_EQ(poller.wait(events, 0), 1u);
    EXPECT_EQ(poller.wait(events, 0), 0u);
  }
}

TEST(Fd, MovesAndCloses) {
  Fd one(::dup(0));
  const int number = one.get();
  Fd two(std::move(one));
  EXPECT_FALSE(one);
  EXPECT_EQ(two.get(), number);
  two = Fd();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace postern::net
