import type { Explaining } from '../explain-failure.ts'

/** No answer came, or none that can be trusted: what is wrong with the way there. */
export function networkProblem(error: unknown, whom: string, by: Explaining): string | undefined {
  const found = codedCause(error)
  if (!found) return undefined
  const { code, host } = found
  const place = host === undefined ? '' : ` at ${by.foreign(host)}`
  if (/CERT|UNABLE_TO_|^ERR_(?:TLS|SSL)_|SELF_SIGNED/.test(code))
    return `the certificate of ${whom} was not accepted (${code}): behind a proxy that looks into connections, name its certificate in NODE_EXTRA_CA_CERTS; also check the clock of this machine`
  if (code === 'EPROTO')
    return `${whom} does not speak TLS${place} (${code}): check its address; where it is meant to be plain, write http:// in place of https://`
  if (/^(?:ENOTFOUND|EAI_)/.test(code))
    return `${whom} was not found${place} (${code}): check the network (to work without one: --provider offline)`
  if (code === 'ECONNREFUSED' || code === 'ConnectionRefused')
    return `nobody answers for ${whom}${place} (${code}): start it, or check its address (to work without: --provider offline)`
  if (/TIMEDOUT|TIMEOUT|UNREACH|(?:HOST|NET)DOWN/.test(code))
    return `${whom} does not answer${place} (${code}): check the network, then: libero --continue`
  if (/^(?:ECONN(?:RESET|ABORTED)|EPIPE|UND_ERR_(?:SOCKET|CLOSED)|ConnectionClosed)$/.test(code))
    return `the connection to ${whom} broke off (${code}): check the network, then: libero --continue`
  return undefined
}

/** What happened is often several causes deep, or in a list of attempts. */
function codedCause(error: unknown): { readonly code: string; readonly host?: string } | undefined {
  let at = error as Coded | null | undefined
  let named: { host?: string } = {}
  for (let depth = 0; at && depth < 8; depth++) {
    named = hostOf(at).host === undefined ? named : hostOf(at)
    const code = typeof at.code === 'string' ? at.code : undefined
    if (code !== undefined && isNetwork.test(code)) return { code, ...named }
    if (depth === 0 && typeof at.providerCode === 'string' && isNetwork.test(at.providerCode) && !at.cause)
      return { code: at.providerCode, ...named }
    at = (at.cause ?? at.errors?.[0]) as Coded | undefined
  }
  return undefined
}

interface Coded {
  readonly code?: unknown
  readonly providerCode?: unknown
  readonly cause?: unknown
  readonly errors?: readonly unknown[]
  readonly message?: unknown
  readonly hostname?: unknown
  readonly address?: unknown
  readonly port?: unknown
}

const isNetwork =
  /^(?:E(?:CONN(?:RESET|REFUSED|ABORTED)|PIPE|PROTO|TIMEDOUT|NOTFOUND|AI_[A-Z]+|(?:HOST|NET)(?:UNREACH|DOWN))|ERR_(?:TLS|SSL)_\w+|CERT_\w+|UNABLE_TO_\w+|\w*SELF_SIGNED_CERT\w*|UND_ERR_(?:SOCKET|CLOSED|\w*TIMEOUT)|Connection(?:Refused|Closed))$/

function hostOf({ hostname, address, port, message }: Coded): { host?: string } {
  const name = hostname ?? address
  if (typeof name === 'string') return { host: port === undefined ? name : `${name}:${String(port)}` }
  const [, host] = (typeof message === 'string' && /\bNo answer from ([^\s;,]+): /.exec(message)) || []
  return host === undefined ? {} : { host }
}
