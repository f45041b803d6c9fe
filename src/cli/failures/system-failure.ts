import { messageOf } from '../../core/errors.ts'
import type { ExplainContext } from '../explain-failure.ts'

/** Explains an error of the operating system, with the file it concerns. */
export function explainSystem(error: unknown, context: ExplainContext): string | undefined {
  const found = withCode(error)
  if (!found) return networkProblem(error, 'the service', context)
  const { code, path } = found
  const which = typeof path === 'string' && path !== '' ? context.safe(path) : context.safe(messageOf(error))
  return systemFailures[code]!(which)
}

const systemFailures: Readonly<Record<string, (which: string) => string>> = {
  EACCES: (which) => `no permission for ${which}: check its owner and its permissions (ls -l)`,
  EPERM: (which) => `the system does not permit this for ${which}: check its owner and its permissions`,
  ENOSPC: (which) => `the disk is full, ${which} could not be written: free some space, then try again`,
  EDQUOT: (which) => `your quota is used up, ${which} could not be written: free some space, then try again`,
  EROFS: (which) => `${which} is on a read-only disk: choose another folder (LIBERO_HOME, --cwd)`,
  ENOENT: (which) => `${which} does not exist: check the path`,
  ENOTDIR: (which) => `${which} is not a folder: check the path`,
  EISDIR: (which) => `${which} is a folder, not a file: check the path`,
  EMFILE: () => 'this user has too many files open: close programs, or raise the limit (ulimit -n)',
  ENFILE: () => 'this machine has too many files open: close programs, then try again',
  ENOMEM: () => 'there is not enough memory: close programs, then try again',
}

function withCode(error: unknown): { readonly code: string; readonly path?: unknown } | undefined {
  let at = error as { code?: unknown; path?: unknown; cause?: unknown } | null | undefined
  for (let depth = 0; at && depth < 6; depth++, at = at.cause as typeof at)
    if (typeof at.code === 'string' && Object.hasOwn(systemFailures, at.code)) return { code: at.code, path: at.path }
  return undefined
}

/** Explains a network error: no answer, or none that can be trusted. */
export function networkProblem(error: unknown, whom: string, context: ExplainContext): string | undefined {
  const found = codedCause(error)
  if (!found) return undefined
  const { code, host } = found
  const place = host === undefined ? '' : ` at ${context.safe(host)}`
  if (/CERT|UNABLE_TO_|^ERR_(?:TLS|SSL)_|SELF_SIGNED/.test(code))
    return `the certificate of ${whom} was not accepted (${code}): behind a proxy that inspects connections, name its certificate in NODE_EXTRA_CA_CERTS; also check the clock of this machine`
  if (code === 'EPROTO')
    return `${whom} does not speak TLS${place} (${code}): check its address; for a server without TLS, write http:// instead of https://`
  if (/^(?:ENOTFOUND|EAI_)/.test(code))
    return `${whom} was not found${place} (${code}): check the network (to work without one: --provider offline)`
  if (code === 'ECONNREFUSED' || code === 'ConnectionRefused')
    return `${whom} does not accept connections${place} (${code}): start it, or check its address (to work without: --provider offline)`
  if (/TIMEDOUT|TIMEOUT|UNREACH|(?:HOST|NET)DOWN/.test(code))
    return `${whom} does not answer${place} (${code}): check the network, then: libero --continue`
  if (/^(?:ECONN(?:RESET|ABORTED)|EPIPE|UND_ERR_(?:SOCKET|CLOSED)|ConnectionClosed)$/.test(code))
    return `the connection to ${whom} broke off (${code}): check the network, then: libero --continue`
  return undefined
}

/** The error code is often several causes deep, or in a list of attempts. */
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

/** Explains that bubblewrap or Docker is not available. Their messages say how to install them. */
export function explainExecution(error: unknown, { safe }: ExplainContext): string | undefined {
  const message = messageOf(error)
  const [, whyNone] = /^Commands must run in a sandbox .*?, and there is none: (.*)$/s.exec(message) ?? []
  if (whyNone !== undefined)
    return `there is no sandbox, and the settings or --sandbox require one: ${safe(whyNone.replace(' Nothing was run.', ''))}; or choose --sandbox auto, which asks about every command instead`
  if (/^A Docker context needs the package|^Docker (?:could not|does not)|^There is no image /.test(message))
    return `--context docker cannot be used here: ${safe(message.replace(/^Docker could not .*?: (?=Docker )/, '').replace(/, or say where it is: createDockerContext\(.*?\), or DOCKER_HOST/, ', or say where it is with DOCKER_HOST'))}; or leave out --context docker`
  return undefined
}
