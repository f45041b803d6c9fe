interface UnreachedHost {
  readonly host: string
  /** This machine by a loopback name or address. */
  readonly isLocal: boolean
  readonly port?: number
}

/** The host that a program could not reach, from the words of its error and, if these name none, from the command. */
export function unreachedHost(output: string, command: string): UnreachedHost | undefined {
  for (const line of output.split('\n').reverse()) {
    const words = unreached.exec(line)
    if (!words) continue
    const isRefusal = /refused/i.test(words[0])
    const named = hostIn(line) ?? hostIn(output) ?? hostIn(command)
    // Any server may refuse a connection; without a network only those of this machine can be meant.
    if (named && (!isRefusal || named.isLocal)) return named
  }
  return undefined
}

const unreached =
  /could not (?:resolve|translate host name)|unable to resolve|failed to resolve|temporary failure (?:in name resolution|resolving)|name or service not known|nodename nor servname|failed to lookup address|network is unreachable|no route to host|couldn't connect to server|\b(?:ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED)\b|connection refused|server misbehaving|no such host|unknown host|lookup \S+ on \S+/i

/** How programs name a host, most certain first. */
const forms: readonly RegExp[] = [
  /(?:resolve|resolving|resolv(?:e|ing)?) (?:host(?:name)?(?: address)?:? )?[‘'"`]?([\w.-]+\.[\w-]+|localhost)/i,
  /translate host name "([\w.-]+)"/,
  /getaddrinfo \w+ ([\w.-]+)/,
  /lookup ([\w.-]+)(?: on |: )/,
  /(?:connect to|connecting to)(?: host| server at)? [‘'"`]?([\w.-]+|\[[\da-f:]+\])[’'"`]?,?(?:[ :](?:port )?(\d+))?/i,
  /connect E\w+ ([\d.]+|[\da-f:]+):(\d+)/,
  /host='([^']+)', port=(\d+)/,
  /\b(?:https?|ssh|git|ftp|postgres(?:ql)?|redis|mysql|wss?):\/\/(?:[^\s@/]+@)?([\w.-]+|\[[\da-f:]+\])(?::(\d+))?/,
  /^\w+: (?:error: )?(?:tcp:\/\/)?([\w-]+(?:\.[\w-]+)+|localhost)(?:: |:(\d+))/,
  /[\w.-]+@([\w-]+(?:\.[\w-]+)+):/,
  /\b(localhost|127\.0\.0\.1)[: ](\d+)/,
  /\/dev\/tcp\/([\w.-]+)\/(\d+)/,
]

function hostIn(text: string): UnreachedHost | undefined {
  for (const form of forms) {
    const [, host, port] = form.exec(text) ?? []
    if (host === undefined || /^\d+$/.test(host)) continue
    const isLocal = /^(localhost|127\.|::1$|\[::1\]$|0\.0\.0\.0$)/.test(host)
    return { host, isLocal, ...(port !== undefined && { port: Number(port) }) }
  }
  return undefined
}
