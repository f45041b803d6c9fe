import { posix } from 'node:path'
import type { Confinement, SandboxProfile, SandboxSupport } from '../core/execution.ts'
import { isIn } from '../platform/is-in.ts'
import { matchesWildcard, wildcard } from '../platform/wildcard.ts'
import { type EffectFact, factsOf, type JudgedCall } from './judged-call.ts'
import { type Protect, projectSettings, protectedReads } from './rules/protected-paths.ts'
import type { CompiledRules } from './rules/rules.ts'

/** Where the commands of a call run: inside a sandbox that lets them reach this, or with all rights of the user. */
export type Placement = Confinement | 'outside'

/** The part of a placement that a grant stores. What rules hide is not part of it: they may change. */
export type GrantedPlacement = Omit<Confinement, 'hidden'> | 'outside'

interface ConfinementContext {
  readonly profile: SandboxProfile
  readonly rules: CompiledRules
  /** The workspace, absolute. */
  readonly root: string
  readonly protect: Protect
  /** Folders of this program, which no command sees. */
  readonly own: readonly string[]
  readonly reach: Reach
  /** The mode is `yolo`: the network and the home folder are part of it. */
  readonly isOpen: boolean
}

/**
 * What a decision opens beyond the workspace. `nothing`: the mode alone decided. `decided`: what a rule allows. `proposed`: also
 * protected paths and unnamed hosts, because a person sees them in the question, or saw them before the grant.
 */
export type Reach = 'nothing' | 'decided' | 'proposed'

/** What the commands of a call can reach: what was judged, and nothing else. Pure. */
export function confinementOf(call: JudgedCall, context: ConfinementContext): Confinement {
  const { profile, rules, reach, isOpen } = context
  const facts = factsOf(call)
  const reads = reach === 'nothing' ? [] : targetsOf(facts, 'fs.read', context)
  const hosts = reach === 'nothing' && !isOpen ? [] : hostsOf(facts, context)
  return {
    profile,
    reads,
    writes: reach === 'nothing' || profile === 'read-only' ? [] : targetsOf(facts, 'fs.write', context),
    hidden: hiddenFrom(call, reads, context),
    hosts: isOpen && !rules.places.limitsHosts ? 'any' : hosts,
    home: isOpen ? 'readable' : 'empty',
  }
}

/**
 * The confinement of a program started by settings rather than by a call: the workspace without its secrets and what
 * rules hide, and `reads`; no network and no home folder. Pure.
 */
export function workspaceConfinement({
  rules,
  root,
  reads = [],
  own = [],
}: Pick<ConfinementContext, 'rules' | 'root'> &
  Partial<Pick<ConfinementContext, 'own'>> & { readonly reads?: readonly string[] }): Confinement {
  const { deniedReads, askedReads } = rules.places
  const ruled = [...deniedReads, ...askedReads].flatMap((pattern) => absoluteForms(pattern, root, rules.base.home))
  const secrets = secretsBelow(root).filter((path) => !isSetting(path, root))
  const hidden = [...new Set([...ruled, ...own, ...secrets])]
  return { profile: 'workspace-write', reads, writes: [], hidden, hosts: [], home: 'empty' }
}

/** `read-only` for a call that is known to write and send nothing. */
export function profileOf(call: JudgedCall): SandboxProfile {
  const isChanging = factsOf(call).some(({ effect }) => !/^(fs\.read|exec|ask|spawn)$/.test(effect))
  return isChanging || isUnknown(call) ? 'workspace-write' : 'read-only'
}

/** Whether the authority cannot tell what a line does. A person or a rule may allow such a line, for instance `npm test`. */
function isUnknown({ shell }: JudgedCall): boolean {
  return shell !== undefined && (!shell.isWhole || shell.commands.some(({ inside }) => inside === undefined))
}

/** The placement that reaches what both reach. If only one has the home folder of `yolo`, it is the other one. */
export function narrower(one: Placement | undefined, other: Placement | undefined): Placement | undefined {
  if (one === undefined || one === 'outside') return other ?? one
  if (other === undefined || other === 'outside') return one
  const hidden = [...new Set([...one.hidden, ...other.hidden])]
  if (one.home !== other.home) return { ...(one.home === 'empty' ? one : other), hidden }
  const common = (a: readonly string[], b: readonly string[]): string[] => a.filter((path) => b.includes(path))
  return {
    profile: one.profile === 'read-only' ? one.profile : other.profile,
    reads: common(one.reads, other.reads),
    writes: common(one.writes, other.writes),
    hidden,
    hosts: commonHosts(one.hosts, other.hosts),
    home: one.home,
  }
}

/** Whether an approved placement covers what is wanted now. */
export function reaches(approved: GrantedPlacement | undefined, wanted: Placement): boolean {
  if (approved === undefined || wanted === 'outside') return approved === 'outside'
  if (approved === 'outside') return true
  const includesAll = (all: readonly string[], some: readonly string[]): boolean =>
    some.every((one) => all.includes(one))
  return (
    (wanted.profile === 'read-only' || approved.profile === 'workspace-write') &&
    (wanted.home === 'empty' || approved.home === 'readable') &&
    includesAll(approved.reads, wanted.reads) &&
    includesAll(approved.writes, wanted.writes) &&
    (approved.hosts === 'any' || (wanted.hosts !== 'any' && includesAll(approved.hosts, wanted.hosts)))
  )
}

/** The part of a placement that a grant stores. */
export function grantedPlacement(place: Placement): GrantedPlacement {
  if (place === 'outside') return place
  const { hidden: _, ...reach } = place
  return reach
}

/**
 * Whether the sandboxes hold what a confinement says. A container and a service have `workspace-write` alone: they hide and
 * protect nothing of what is in them, and have their own network.
 */
export const isEnforcing = (sandbox: SandboxSupport | undefined): boolean =>
  sandbox?.profiles.includes('read-only') === true

/** A placement in words for a person. */
export function placementText(place: GrantedPlacement, sandbox?: SandboxSupport): string {
  if (place === 'outside') return 'OUTSIDE any sandbox, with all your rights'
  if (sandbox && !isEnforcing(sandbox)) return 'in the container, with all of its files and its network'
  const { profile, reads, writes, hosts, home } = place
  const also = [
    ...(reads.length > 0 ? [`reads ${reads.join(', ')}`] : []),
    ...(writes.length > 0 ? [`writes ${writes.join(', ')}`] : []),
  ]
  const net = hosts === 'any' ? 'any network' : hosts.join(', ') || 'no network'
  const at = home === 'empty' ? 'home not visible' : 'home readable except for secrets'
  return `in the sandbox ${profile}: ${[net, at, ...also].join('; ')}`
}

/** The targets outside the workspace that are opened. A protected one only in a proposal, which a person sees. */
function targetsOf(
  facts: readonly EffectFact[],
  effect: 'fs.read' | 'fs.write',
  { protect, reach, root, rules }: ConfinementContext,
): string[] {
  const isProtected = (target: string): boolean => {
    const found = reach === 'proposed' ? undefined : protect(target)
    return effect === 'fs.write' ? found !== undefined : found?.read !== undefined
  }
  const targets = facts.flatMap(({ effect: own, target = '', isOutside }) =>
    own === effect && isOutside && mayBeOpened(target, [root, rules.base.home]) && !isProtected(target) ? [target] : [],
  )
  return [...new Set(targets)].sort()
}

/**
 * Patterns are left out, and so are system folders, the home folder and the parents of home and workspace: opening one
 * would open the whole machine.
 */
function mayBeOpened(target: string, folders: readonly (string | undefined)[]): boolean {
  if (!target.startsWith('/') || /[*?[]|^\/(proc|sys|dev)(\/|$)/.test(target)) return false
  return !folders.some((folder) => isIn(folder, target))
}

/**
 * What the commands cannot see: what rules deny or ask about, the folders of this program, and the secrets in the workspace and
 * in folders that are opened. A secret that the call names is not hidden from a proposal, which a person sees.
 */
function hiddenFrom(call: JudgedCall, reads: readonly string[], context: ConfinementContext): string[] {
  const { root, reach, own } = context
  const secrets = [root, ...reads].flatMap(secretsBelow).filter((path) => !isSetting(path, root))
  const named = reach === 'proposed' ? readTargets(call, root) : []
  const isNamed = (secret: string): boolean => named.some((path) => isIn(path, secret))
  return [...new Set([...hiddenByRules(call, context), ...own, ...secrets.filter((secret) => !isNamed(secret))])]
}

/** If a rule asks about this call, then only about the files that the call reads: these are not hidden, other files are. */
function hiddenByRules(call: JudgedCall, { rules, root }: ConfinementContext): string[] {
  const [denied, asked] = [rules.places.deniedReads, rules.places.askedReads].map((patterns) =>
    patterns.flatMap((pattern) => absoluteForms(pattern, root, rules.base.home)),
  ) as [string[], string[]]
  const read = asked.length > 0 && rules.matchAsk(call, root) ? readTargets(call, root) : []
  const isInQuestion = (pattern: string): boolean =>
    read.some((path) => path !== root && (isIn(pattern, path) || matchesWildcard(wildcard(pattern), path)))
  return [...denied, ...asked.filter((pattern) => !isInQuestion(pattern))]
}

const isSetting = (path: string, root: string): boolean => projectSettings.some((name) => path === `${root}/${name}`)

/** A pattern of a rule as absolute patterns. Without one, all of the workspace. */
function absoluteForms(pattern: string | undefined, root: string, home: string | undefined): string[] {
  if (pattern === undefined || pattern === '*') return [`${root}/*`]
  if (/^~(\/|$)/.test(pattern)) return home === undefined ? [] : [posix.join(home, pattern.slice(1))]
  const absolute = pattern.startsWith('/') ? posix.normalize(pattern) : posix.join(root, pattern)
  return [absolute.length > 1 ? absolute.replace(/\/$/, '') : absolute]
}

/** Only directly in the folder: looking for them at any depth would take longer than most commands. */
const secretsBelow = (folder: string): string[] => protectedReads.map((name) => `${folder}/${name}`)

const readTargets = (call: JudgedCall, root: string): string[] =>
  factsOf(call).flatMap(({ effect, target }) =>
    effect === 'fs.read' && target !== undefined ? [posix.resolve(root, target)] : [],
  )

/** The hosts that the call names; `any` if it leaves some unnamed and a rule allows every host or a person sees the proposal. */
function hostsOf(facts: readonly EffectFact[], { rules: { places }, reach }: ConfinementContext): Confinement['hosts'] {
  const hosts = facts.flatMap(({ effect, target }) => (effect === 'net' ? [target?.toLowerCase()] : []))
  const mayBeAny = (places.allowsHosts || reach === 'proposed') && !places.limitsHosts
  if (hosts.includes(undefined) && mayBeAny) return 'any'
  return [...new Set(hosts.filter((host) => host !== undefined))].sort()
}

function commonHosts(one: Confinement['hosts'], other: Confinement['hosts']): Confinement['hosts'] {
  if (one === 'any') return other
  return other === 'any' ? one : one.filter((host) => other.includes(host))
}
