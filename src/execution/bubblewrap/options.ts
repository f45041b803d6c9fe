import { checkHostRules } from '../../platform/addresses.ts'

export interface BubblewrapOptions {
  /** Default: the working directory of this process, when a handle is made. */
  readonly cwd?: string
  /** The folders whose files may be written; absolute. A protected path is written only when it is named here itself. Default: the cwd of the handle. */
  readonly roots?: readonly string[]
  /** What must be seen although it lies in a folder for temporary files, or must not be written although it lies in a root. */
  readonly readOnly?: readonly string[]
  /** What must not be read. Default: where people keep credentials, below the home. */
  readonly hidden?: readonly string[]
  /** `false` (default): none. `true`: that of this machine. Else only what is allowed, through a proxy. */
  readonly network?: boolean | BubblewrapNetwork
  /** For all commands, as given. Of the environment of this process they get what a shell needs, and nothing secret. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of further variables of this process that commands get. */
  readonly inheritEnv?: readonly string[]
  readonly limits?: BubblewrapLimits
  /** Hears what went out through the proxy, and what was refused. */
  readonly onEgress?: (event: EgressEvent) => void
  /** The program, if it is not in a folder of the system. */
  readonly bwrap?: string
}

export interface BubblewrapNetwork {
  /**
   * `registry.example`, `*.example.org`, with or without a port. An address that is not public must be named itself:
   * `10.0.0.7`, `localhost:8080`.
   */
  readonly allow: readonly string[]
  /** Never, whatever else is allowed. */
  readonly deny?: readonly string[]
  /** All addresses of a name. Default: as this machine finds them. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
  /** Bytes that may be sent in all; then nothing goes out any more. */
  readonly maxUpload?: number
}

/** What went out, or was refused. */
export interface EgressEvent {
  readonly host: string
  readonly port: number
  readonly allowed: boolean
  /** Why not, or why it failed. */
  readonly reason?: string
  readonly bytesSent: number
  readonly bytesReceived: number
}

/** Of each command. */
export interface BubblewrapLimits {
  /** Processes and threads at once; for root, of all commands of a handle. 0: any number. Default 1024. */
  readonly processes?: number
  /** Address space of each process. Some runtimes reserve far more than they use. */
  readonly memoryMb?: number
  /** Of each file that is written. */
  readonly fileSizeMb?: number
}

export const defaultProcesses = 1024

const known = {
  ...{ cwd: 0, roots: 0, readOnly: 0, hidden: 0, network: 0, env: 0, inheritEnv: 0, limits: 0, onEgress: 0, bwrap: 0 },
} satisfies Record<keyof BubblewrapOptions, 0>
const knownNetwork = { allow: 0, deny: 0, resolve: 0, maxUpload: 0 } satisfies Record<keyof BubblewrapNetwork, 0>
const knownLimits = { processes: 0, memoryMb: 0, fileSizeMb: 0 } satisfies Record<keyof BubblewrapLimits, 0>

/** Throws a TypeError that says what is wrong; it does not repeat values, which may be secrets. */
export function checkOptions(options: BubblewrapOptions): void {
  checkNames('option', options, known)
  const { cwd, roots, readOnly, hidden, network, env, inheritEnv, limits, onEgress, bwrap } = options
  for (const [name, value] of Object.entries({ cwd, bwrap }))
    if (value !== undefined && !isTexts([value])) throw refusal(name, 'a path')
  for (const [name, value] of Object.entries({ roots, readOnly, hidden }))
    if (value !== undefined && !(isTexts(value) && value.every((path) => path.startsWith('/'))))
      throw refusal(name, 'a list of absolute paths')
  if (inheritEnv !== undefined && !isTexts(inheritEnv)) throw refusal('inheritEnv', 'a list of names')
  if (onEgress !== undefined && typeof onEgress !== 'function') throw refusal('onEgress', 'a function')
  checkEnv(env)
  checkNetwork(network)
  checkLimits(limits)
}

/** For what a spawn or a command brings along, too. */
export function checkEnv(env: unknown): void {
  if (env === undefined) return
  if (typeof env !== 'object' || env === null) throw refusal('env', 'an object of strings')
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== 'string') throw refusal(`env.${name}`, 'a string')
    if (/[=\0]|^$/.test(name) || value.includes('\0'))
      throw new TypeError(
        `The environment variable ${JSON.stringify(name)} cannot be set: it has a "=" or a NUL, or no name`,
      )
  }
}

function checkNetwork(network: unknown): void {
  if (network === undefined || typeof network === 'boolean') return
  checkNames('setting of network', network, knownNetwork)
  const { allow, deny, maxUpload } = network as BubblewrapNetwork
  for (const [name, rules] of Object.entries({ allow, deny })) {
    if (rules === undefined && name === 'deny') continue
    if (!isTexts(rules)) throw refusal(`network.${name}`, 'a list of hosts')
    checkHostRules(rules, `network.${name}`)
  }
  if (maxUpload !== undefined && !(maxUpload >= 0)) throw refusal('network.maxUpload', 'a number of bytes')
}

function checkLimits(limits: BubblewrapLimits | undefined): void {
  if (limits === undefined) return
  checkNames('limit', limits, knownLimits)
  for (const [name, limit] of Object.entries(limits))
    if (!Number.isSafeInteger(limit) || limit < (name === 'processes' ? 0 : 1))
      throw refusal(`limits.${name}`, 'a whole number above 0')
}

function checkNames(what: string, given: unknown, names: object): void {
  if (typeof given !== 'object' || given === null) throw refusal(`${what}s`, 'an object')
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(names, name))
  if (unknown)
    throw new TypeError(
      `createBubblewrapContext: unknown ${what} "${unknown}"; there are ${Object.keys(names).join(', ')}`,
    )
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')
}

function refusal(name: string, wanted: string): TypeError {
  return new TypeError(`createBubblewrapContext: ${name} must be ${wanted}`)
}
