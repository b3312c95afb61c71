// A thin wrapper of SQLite's C interface: connections, statements, errors as Status. sqlite.cc is
// the only file that sees SQLite's header. One connection is used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"

struct sqlite3_stmt;

namespace temper::db {

class Connection;

// A prepared statement in use; its destructor makes it ready for the next use. Parameters count
// from 1, columns from 0. Bound text must live until the statement ends.
class Statement {
 public:
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  Statement& BindInt(int parameter, int64_t value);
  Statement& BindReal(int parameter, double value);
  Statement& BindText(int parameter, std::string_view value);
  Statement& BindBlob(int parameter, std::string_view value);
  Statement& BindHash(int parameter, const Hash& value) {
    return BindBlob(parameter, value.AsBytes());
  }

  // True: there is a row to read. False: there are no more.
  Result<bool> Step();
  // Steps to the end; rows are dropped.
  Status Run();

  // Of the current row. A NULL reads as 0 or nothing.
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string Bytes(int column) const;  // text or blob

 private:
  friend class Connection;
  Statement(Connection* connection, sqlite3_stmt* statement)
      : connection_(connection), statement_(statement) {}
  void NoteBind(int code);

  Connection* connection_;
  sqlite3_stmt* statement_;  // owned by the connection's cache
  int bind_error_ = 0;
};

class Connection {
 public:
  enum class Mode {
    kCreate,     // for writing; made if it does not exist
    kWrite,      // for writing; must exist
    kRead,       // for reading
    kReadAlone,  // the same, and removes the files beside the database when it is the last to close
    kImmutable   // for reading, when neither the file nor its folder can be written: no locks
  };
  // Waits up to `busy_ms` wherever another process holds a lock.
  static Result<std::unique_ptr<Connection>> Open(const std::string& path, Mode mode, int busy_ms);
  ~Connection();

  // One or more statements without parameters or results.
  Status Execute(std::string_view sql);

  // The statement of that text, prepared once a connection. Not to be used twice at a time.
  Result<Statement> Prepare(std::string_view sql);

  // The first column of the first row, as an integer or text.
  Result<int64_t> QueryInt(std::string_view sql);
  Result<std::string> QueryText(std::string_view sql);

  // Runs `work` in a transaction that holds the write lock from its start: committed if it returns
  // OK, else undone.
  Status Transaction(const std::function<Status()>& work);

  // Rows changed by the last statement that changed any.
  int64_t Changes() const;
  bool ReadOnly() const;

  // The status of SQLite's error code `code`, with the file's path and what to do next.
  Status Error(int code) const;

 private:
  struct State;
  explicit Connection(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace temper::db
