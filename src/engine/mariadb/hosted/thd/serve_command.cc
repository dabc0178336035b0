#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/thd/serve_command.h"

#include <cstring>

#include <mysql_com_server.h>

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/hosted/thd/command.h"

namespace postern::mariadb {
namespace {

/// Whether it is one packet with a command that the server knows, and fits into the server's buffer.
bool is_whole(const NET &net, Bytes packet) {
  if (packet.size() <= header_bytes || packet[3] != 0) return false;
  const size_t bytes = uint3korr(reinterpret_cast<const uchar *>(packet.data()));
  const uint8_t command = command_of(packet);
  return packet.size() == header_bytes + bytes && bytes < net.max_packet && command < COM_MDB_GAP_BEG;
}

/// Whether the server's own read would do no more than put_as_read().
bool can_be_put(THD *thd, Bytes packet) {
  const NET &net = thd->net;
  if (net.compress || net.where_b != 0 || net.extension == nullptr || !is_whole(net, packet)) return false;
  return !WSREP_ON_ && !is_client_of_cluster(thd) &&
         thd->async_state.m_state == thd_async_state::enum_async_state::NONE;
}

/// As my_net_read_packet() leaves the packet, its numbers and counts, and do_command() the session before and after it.
void put_as_read(THD *thd, Bytes packet) {
  NET &net = thd->net;
  const Bytes payload = packet.substr(header_bytes);
  thd->lex->current_select = nullptr;
  thd->clear_error(true);
  thd->start_bytes_received = thd->status_var.bytes_received;
  auto *const observers = static_cast<st_net_server *>(net.extension);
  observers->m_before_header(&net, observers->m_user_data, header_bytes);
  std::memcpy(net.buff, payload.data(), payload.size());
  net.buff[payload.size()] = 0;
  net.read_pos = net.buff;
  net.pkt_nr = net.compress_pkt_nr = 1;
  net.reading_or_writing = 0;
  thd->status_var.bytes_received += packet.size();
  observers->m_after_header(&net, observers->m_user_data, header_bytes, 0);
  my_net_set_read_timeout(&net, thd->variables.net_read_timeout);
}

}  // namespace

dispatch_command_return serve_command(THD *thd, Conversation &conversation) {
  if (!can_be_put(thd, conversation.packet())) return do_command(thd, true);
  const Bytes packet = conversation.take_packet();
  put_as_read(thd, packet);
  auto *const payload = reinterpret_cast<char *>(thd->net.read_pos);
  const dispatch_command_return result =
      dispatch_command(static_cast<enum_server_command>(command_of(packet)), thd, payload + 1,
                       static_cast<uint>(packet.size() - header_bytes - 1), true);
  thd->lex->restore_set_statement_var();
  return result;
}

}  // namespace postern::mariadb
