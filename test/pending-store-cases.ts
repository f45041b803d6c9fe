/**
 * Cases of the store contract that a store does not pass yet. A list shrinks as its store gets summaries, forks and the
 * rest; with the last one this file goes.
 */
const withoutIndex: readonly string[] = [
  'ST15 a watcher for the inbox alone gets every message and no entry',
  'ST05 a lease, a message and a blob need a session that is there, and make none',
  'ST05 a session that was only leased is gone when its lease is given back',
  'ST01 a summary tells what the entries of its session say',
  'ST01 a summary is the same however its entries were divided',
  'ST01 a writer that goes on after another one adds to its summary',
  'ST01 entries of more than 256 KiB count like others',
  'ST01 a run is working while a process holds the lease, and interrupted when none does',
  'ST01 a child is held by the lease at the top',
  'ST03 a message that waits needs attention, unless a process holds the session',
  'ST03 the answer to a call that waits needs attention, in the inbox and in the log',
  'ST02 every order and every filter give the sessions they name, in pages',
  'ST03 the list of those that need attention has each for its reason, and none that is held',
  'ST10 a fork begins with the entries of its original, and then both go their own way',
  'ST10 the summary of a fork is that of all its entries',
  'ST10 a fork of a fork has the entries of both',
  'ST10 a fork stays whole when its original is deleted, whichever goes first',
  'ST10 a new session with the name of the original has nothing to do with its forks',
  'ST10 a fork finds the blobs of the entries that it shares, and keeps them',
  'ST10 the first append of a fork may be repeated, and one that is refused leaves nothing',
  'ST03 a message of another opener, and its lease, are seen in the summary',
  'ST10 a fork that one opener made is whole for another one, when the original is gone too',
]

export const pendingCases: Readonly<Record<string, readonly string[]>> = {
  jsonl: withoutIndex,
}
