import { checkHostRules } from '../../platform/addresses.ts'
import type { CommandLimits } from '../commands/command-shell.ts'
import { isTexts, optionChecks } from '../process.ts'

export interface BubblewrapOptions {
  /** Default: the working directory of this process when the handle is created. */
  readonly cwd?: string
  /** The writable folders; absolute. A protected path is writable only if it is listed here itself. Default: the cwd of the handle. */
  readonly roots?: readonly string[]
  /** Paths that are visible although they are in a temporary folder, or read-only although they are in a root. */
  readonly readOnly?: readonly string[]
  /** Paths that cannot be read. Default: common locations of credentials below the home folder. */
  readonly hidden?: readonly string[]
  /** `false` (default): none. `true`: that of this machine. An object: only allowed hosts, through a proxy. */
  readonly network?:
    | boolean
    | {
        /**
         * `registry.example`, `*.example.org`, with or without a port. An address that is not public must be named
         * itself: `10.0.0.7`, `localhost:8080`.
         */
        readonly allow: readonly string[]
        /** Denied hosts; takes precedence over `allow`. */
        readonly deny?: readonly string[]
        /** Resolves a name to all its addresses. Default: the resolver of this machine. */
        readonly resolve?: (host: string) => Promise<readonly string[]>
        /** The total number of bytes that may be sent; then the network is blocked. */
        readonly maxUpload?: number
      }
  /** Variables for all commands. From the environment of this process they get only what a shell needs, and no secrets. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of further variables of this process to pass to commands. */
  readonly inheritEnv?: readonly string[]
  /** Of each command. `processes` counts threads too, for root those of all commands of a handle; 0: no limit, default 1024. */
  readonly limits?: CommandLimits
  /** Called with each connection through the proxy, and each refusal. */
  readonly onEgress?: (event: EgressEvent) => void
  /** The path of bubblewrap, if it is not in a system folder. */
  readonly bwrap?: string
}

export type BubblewrapNetwork = Exclude<NonNullable<BubblewrapOptions['network']>, boolean>

/** A connection through the proxy, or a refusal. */
export interface EgressEvent {
  readonly host: string
  readonly port: number
  readonly allowed: boolean
  /** Why it was refused or failed. */
  readonly reason?: string
  readonly bytesSent: number
  readonly bytesReceived: number
}

export const defaultProcesses = 1024

const known = {
  ...{ cwd: 0, roots: 0, readOnly: 0, hidden: 0, network: 0, env: 0, inheritEnv: 0, limits: 0, onEgress: 0, bwrap: 0 },
} satisfies Record<keyof BubblewrapOptions, 0>
const knownNetwork = { allow: 0, deny: 0, resolve: 0, maxUpload: 0 } satisfies Record<keyof BubblewrapNetwork, 0>
const checks = optionChecks('createBubblewrapContext')
const { refusal, checkNames, checkLimits } = checks

/** Also for the variables of a spawn or a command. */
export const { checkEnv } = checks

/** Throws a TypeError for a wrong option; it does not contain values, which may be secrets. */
export function checkOptions(options: BubblewrapOptions): void {
  checkNames('option', options, Object.keys(known))
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
  checkLimits(limits, { processes: 0 })
}

function checkNetwork(network: unknown): void {
  if (network === undefined || typeof network === 'boolean') return
  checkNames('setting of network', network, Object.keys(knownNetwork))
  const { allow, deny, maxUpload } = network as BubblewrapNetwork
  for (const [name, rules] of Object.entries({ allow, deny })) {
    if (rules === undefined && name === 'deny') continue
    if (!isTexts(rules)) throw refusal(`network.${name}`, 'a list of hosts')
    checkHostRules(rules, `network.${name}`)
  }
  if (maxUpload !== undefined && !(maxUpload >= 0)) throw refusal('network.maxUpload', 'a number of bytes')
}
