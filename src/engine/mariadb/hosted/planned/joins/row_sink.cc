#include "engine/mariadb/hosted/planned/joins/row_sink.h"

#include <new>

#include "base/limits.h"

namespace postern::mariadb {

void RowSink::begin(THD *attached, Protocol &protocol, sql::Packets &packets, const sql::Answer &answer) {
  set_thd(attached);
  protocol_ = &protocol;
  packets_ = &packets;
  answer_ = &answer;
  start_ = packets.output().mark();
  sent_ = 0;
  overflowed_ = mismatched_ = promised_ = false;
  protocol.prepare_for_send(answer.columns());
}

/// The client gets the metadata that the server has sent once, and the rows have to agree with it.
bool RowSink::send_result_set_metadata(List<Item> &items, uint) {
  mismatched_ = items.elements != answer_->columns();
  if (mismatched_ || answer_->columns_left_out()) return mismatched_;
  uint32_t at = 0;
  List_iterator_fast<Item> all(items);
  while (Item *item = all++) {
    const Send_field field(thd, item);
    if (static_cast<uint8_t>(field.type_handler()->type_code_for_protocol()) != answer_->type(at)) mismatched_ = true;
    if (answer_->never_null(at++) && (field.flags & NOT_NULL_FLAG) == 0) promised_ = true;
  }
  return mismatched_;
}

/// The server reads an outer-joined row that one key finds while it optimizes, and then tells its columns as NOT NULL.
/// For other values there may be no such row.
bool RowSink::breaks_promise(List<Item> &items) const {
  uint32_t at = 0;
  List_iterator_fast<Item> all(items);
  while (Item *item = all++)
    if (answer_->never_null(at++) && item->real_item()->type() == Item::FIELD_ITEM && item->is_null()) return true;
  return false;
}

int RowSink::send_data(List<Item> &items) {
  if (promised_ && breaks_promise(items)) mismatched_ = true;
  if (mismatched_ || overflowed_) return 1;
  const size_t bytes = packets_->output().mark() - start_;
  if (bytes > limits::find_bytes_fast_max) overflowed_ = true;
  if (overflowed_ || !put(items)) return 1;
  thd->inc_sent_row_count(1);
  if (sent_++ == 0 && packets_->output().mark() - start_ > limits::first_row_bytes_fast_max) overflowed_ = true;
  return overflowed_ ? 1 : 0;
}

bool RowSink::put(List<Item> &items) {
  protocol_->prepare_for_resend();
  if (protocol_->send_result_set_row(&items)) return false;
  const String &row = *protocol_->storage_packet();
  if (row.length() >= MAX_PACKET_LENGTH || thd->is_error()) return false;
  try {
    packets_->put({row.ptr(), row.length()});
  } catch (const std::bad_alloc &) {  // the server's executor knows no exceptions
    return false;
  }
  return true;
}

}  // namespace postern::mariadb
