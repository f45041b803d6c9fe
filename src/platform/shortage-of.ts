/** Why this machine starts no process now, whatever it would be; undefined for other errors. */
export function shortageOf(code: string): string | undefined {
  switch (code) {
    case 'EMFILE':
    case 'ENFILE':
      return 'too many files are open; end other work, or raise the limit (ulimit -n)'
    case 'EAGAIN':
    case 'ENOMEM':
      return 'this machine has no room for another process; end other work, or raise the limits (ulimit -u, memory)'
    default:
      return undefined
  }
}
