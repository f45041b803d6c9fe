import { homedir } from 'node:os'
import type { AuditRecord, AuditSink, Decision } from '../core/authority.ts'
import type { Clock } from '../core/clock.ts'
import { createIds, systemClock } from '../core/clock.ts'
import type { SandboxSupport } from '../core/execution.ts'
import type { Interact, InteractionResponse } from '../core/interaction.ts'
import type { Extension } from '../core/run.ts'
import type { Session } from '../core/store.ts'
import { Suspended } from '../core/tool-context.ts'
import { createRedactor, type Redactor } from '../platform/redact.ts'
import { createShellReader, type ShellReader } from '../shell/shell-reader.ts'
import { answerSession, type SessionAnswer } from './answer-session.ts'
import { checkOptions } from './check-options.ts'
import { type CommandsRun, createCommandsRun } from './commands-run.ts'
import { narrower } from './confinement.ts'
import { decide } from './decide.ts'
import type { StageVerdict } from './decision-context.ts'
import { authorityExtension } from './extension.ts'
import { type AnswerKey, answerKeyFor } from './grants/answer-key.ts'
import { createGrantFile } from './grants/grant-file.ts'
import { type GrantPlace, grantIdentity } from './grants/grant-identity.ts'
import { createGrants, type Grants } from './grants/grants.ts'
import { createUsedAnswers, type UsedAnswers } from './grants/used-answers.ts'
import { createInteractions, type Interactions } from './interaction/interactions.ts'
import type { Interactor } from './interaction/interactor-queue.ts'
import type { JudgedCall } from './judged-call.ts'
import { patternsIn } from './rules/patterns.ts'
import { createProtection, type Protect } from './rules/protected-paths.ts'
import { withStricterRules } from './rules/rules.ts'
import {
  type AuthoritySettings,
  resolveSettings,
  type SecurityMode,
  type SettingsLayers,
  type ToolRule,
} from './rules/settings.ts'
import { createModeSetter } from './set-mode.ts'
import type { StateMachine } from './stages/state-machine.ts'
import { createTimeLimits, type TimeLimits } from './time-limits.ts'

/** The options of `createAuthority` and of `createAgent({ authority })`. The rules given here are those of this launch. */
export interface AuthorityOptions extends AuthoritySettings {
  /** The settings of the package, the user and the project; see `loadSettings`. */
  readonly layers?: Omit<SettingsLayers, 'launch'>
  /** Who can be asked. More interactors may attach later. */
  readonly interactors?: readonly (Interactor | Interactor['present'])[]
  /** Called after everything else allowed a call. A guard refuses by returning a text or by throwing. */
  readonly guards?: readonly Guard[]
  readonly stateMachine?: StateMachine
  readonly audit?: AuditSink
  /**
   * The user's own folder, such as `~/.libero`. Stores grants, the key that signs answers, and which answers were used.
   * Without it these end with the process.
   */
  readonly home?: string
  /** Signs answers instead of the key in `home`. Use the same secret on every machine that may answer. */
  readonly answerSecret?: Uint8Array
  /** Whether approvals may be kept for a project. Default true. */
  readonly projectGrants?: boolean
  /** Default: the folder in which the agent's tools run, untrusted. */
  readonly workspace?: { readonly root?: string; readonly isTrusted?: boolean | (() => boolean) }
  /** What happens when no person can be asked. Default `halt`. `yolo` accepts everything, and is recorded. */
  readonly headless?: 'halt' | 'yolo'
  /** What happens to calls that need an approval in every mode, such as writes to protected paths. Default `ask`. */
  readonly floor?: 'ask' | 'deny'
  /** One prompt for all calls of a turn that need an approval. Default false: one prompt per call. */
  readonly batchPrompts?: boolean
  /** How long an approval may take, in milliseconds. Default 120,000. */
  readonly approvalTimeoutMs?: number
  /** Masked in prompts, in addition to texts that look like a secret and to secrets in the environment. */
  readonly secrets?: readonly string[]
  readonly clock?: Clock
  readonly newId?: () => string
}

/** May refuse a call that everything else allowed: by returning the reason, or by throwing. */
export type Guard = (
  call: JudgedCall,
  decision: Decision,
) => string | undefined | void | Promise<string | undefined | void>

/** Decides about tool calls. One authority serves an agent and all its children; several agents may share one. */
export interface Authority {
  /** As it is now; `setMode` changes it. */
  readonly mode: SecurityMode
  /** Settings that were ignored, with the reason. */
  readonly warnings: readonly string[]
  readonly interactions: Interactions
  readonly grants: Grants
  readonly guards: readonly Guard[]
  /** The decision about a call, before guards and people. */
  judge(call: JudgedCall, scope?: CallScope): Promise<Decision>
  /** Adds rules that deny or ask. They apply from the next call on, also in running children. */
  tighten(settings: Pick<AuthoritySettings, 'deny' | 'ask'>): void
  /**
   * Replaces the per-tool rules of this launch; those of other layers stay. They apply from the next call on, also in
   * running agents and children, time limits included. Invalid rules are refused, and the old ones stay. New rules may
   * be looser, so only the host program should call it. The mode `plan` stays `plan`.
   */
  setToolRules(tools: Readonly<Record<string, ToolRule>>): void
  /**
   * Changes the mode from the next judged call on, also in running agents, children and authorities that were narrowed
   * from this one; it widens neither their own modes nor their tools. Only the host program should call it, for a person.
   * The change is recorded in the audit: a stricter mode counts at once, a looser one only when the record is written.
   */
  setMode(mode: SecurityMode, change: ModeChange): Promise<void>
  /** An authority for a child, under further rules or those of another authority: what both allow is allowed. */
  narrow(by: (AuthoritySettings & Pick<AuthorityOptions, 'guards'>) | Authority): Authority
  attach(interactor: Interactor | Interactor['present']): () => void
  /** Answers a call that waits in a session, from any process. The answer is signed. */
  answer(session: Session, callId: string, answer: SessionAnswer): Promise<void>
  readonly interact: Interact
  /** `isShared`: the authority serves other agents too, so it stays open when this one is destroyed. */
  extension(use?: { readonly isShared?: boolean }): Extension
  close(): Promise<void>
}

/** The circumstances of `setMode`, for the audit. */
export interface ModeChange {
  /** Who changes it: the name of a person or a program. */
  readonly by: string
  readonly sessionId?: string
  /** `yolo` is refused without it, so that no program comes to it by going through the modes. */
  readonly allowYolo?: true
}

/** The sessions, project and stage of a call, for grants and state machines. */
export interface CallScope extends GrantPlace {
  readonly callId: string
  readonly stage?: StageVerdict
  /** The sandboxes of the execution context. */
  readonly sandbox?: SandboxSupport
}

/** What the gate and the extension share. */
export interface AuthorityParts {
  readonly options: AuthorityOptions
  readonly clock: Clock
  readonly audit: AuditSink
  readonly redactor: Redactor
  readonly reader: ShellReader
  readonly interactions: Interactions
  readonly grants: Grants
  /** The answers by which calls have run. */
  readonly used: UsedAnswers
  key(): Promise<AnswerKey>
  ready(): Promise<void>
  /** Time limits from rules, for tools that declare none. */
  readonly limits: TimeLimits
  readonly commandsRun: CommandsRun
  /** Called before the mode becomes `yolo`. */
  readonly beforeYolo: Set<() => Promise<void>>
}

/** Creates an authority. Throws on invalid settings. */
export function createAuthority(options: AuthorityOptions = {}): Authority {
  return build(options, partsOf(options), [])
}

function partsOf(options: AuthorityOptions): AuthorityParts {
  const { clock = systemClock, newId = createIds(), audit = noAudit, home, projectGrants = true } = options
  // Interaction events may be lost; decisions are awaited elsewhere.
  const note = (record: AuditRecord): void => void Promise.resolve(audit.write(record)).catch(() => {})
  const interactions = createInteractions({
    clock,
    newId,
    headless: options.headless ?? 'halt',
    onEvent: ({ type, ...details }) => {
      // The author of an interactor must see the error; for the run it only looks as if no interactor were attached.
      if (type === 'InteractorFailed') console.error('libero: an interactor failed:', details)
      note({ class: 'Approval', event: type, details })
    },
  })
  for (const interactor of options.interactors ?? []) interactions.attach(interactor)
  const store = home === undefined ? undefined : createGrantFile(`${home}/grants.json`)
  const grants = createGrants({ clock, projectScope: projectGrants, ...(store && { store }) })
  let key: Promise<AnswerKey> | undefined
  return {
    options,
    clock,
    audit,
    redactor: createRedactor({ env: process.env, ...(options.secrets && { secrets: options.secrets }) }),
    reader: createShellReader(),
    interactions,
    grants,
    used: createUsedAnswers(home),
    key: () => (key ??= answerKeyFor(options)),
    ready: () => grants.load(),
    limits: createTimeLimits(() => ({})),
    commandsRun: createCommandsRun(),
    beforeYolo: new Set(),
  }
}

const noAudit: AuditSink = { write() {} }

function build(options: AuthorityOptions, shared: AuthorityParts, above: readonly Authority[]): Authority {
  checkOptions(options)
  const settings = resolveSettings({ ...options.layers, launch: settingsIn(options) })
  let { rules, mode } = settings
  const { interactions, grants } = shared
  const { guards = [] } = options
  const protectionOf = protections(options)

  async function judge(call: JudgedCall, scope?: CallScope): Promise<Decision> {
    const current = rules // they may be replaced while patterns are tried
    const rule = current.tools[call.tool]
    let decision = decide(call, {
      mode,
      rules: current,
      ...(scope && { root: scope.project, protect: protectionOf(scope.project) }),
      ...(options.home !== undefined && { own: [options.home] }),
      // `yolo` answers are not from a person, so calls that a person must approve are denied.
      floor: options.floor ?? (interactions.whoAnswers('Approve') === 'yolo' ? 'deny' : 'ask'),
      patterns: rule && (await patternsIn(call, rule)),
      ...(scope?.stage && { stage: scope.stage }),
      ...(scope?.sandbox && { sandbox: scope.sandbox }),
      grant: (wanted) => scope && grants.find(grantIdentity(call, scope, wanted)),
    })
    for (const other of above) decision = stricter(await other.judge(call, scope), decision)
    return decision
  }

  const setMode = createModeSetter(shared, {
    get: () => mode,
    set: (wanted) => {
      mode = wanted
    },
  })

  const parts: AuthorityParts = { ...shared, limits: createTimeLimits(() => rules.tools, { above: shared.limits }) }
  const authority: Authority = {
    get mode() {
      return mode
    },
    setMode,
    warnings: settings.warnings,
    interactions,
    grants,
    guards,
    judge,
    tighten(more) {
      rules = withStricterRules(rules, more)
    },
    setToolRules(tools) {
      // `undefined` would mean that nothing is configured.
      const launch = { ...settingsIn(options), tools: tools ?? null }
      rules = { ...rules, tools: resolveSettings({ ...options.layers, launch }).tools }
      parts.limits.renew()
    },
    narrow(more) {
      const own = { ...options, ...noRules, guards: [...guards, ...(more.guards ?? [])] }
      if (isAuthority(more)) return build(own, parts, [authority, more])
      checkOptions(more)
      return build({ ...own, ...settingsIn(more) }, parts, [authority])
    },
    attach: (interactor) => interactions.attach(interactor),
    answer: async (session, callId, answer) => answerSession(session, callId, answer, await shared.key()),
    async interact(request, signal, asking) {
      const outcome = await interactions.interact(request, { signal })
      if (outcome.status !== 'unattended' && outcome.status !== 'left') return outcome as InteractionResponse
      // The interactor left. A durable question can be answered later.
      if (outcome.status === 'left' && !asking?.isDurable)
        return { status: 'rejected', reason: 'no person can be asked any more' }
      throw new Suspended('permission-required')
    },
    extension: (use) => authorityExtension(authority, parts, use),
    async close() {
      await parts.reader.close()
    },
  }
  return authority
}

const isAuthority = (given: object): given is Authority => 'judge' in given

/** Settings a narrowed authority does not repeat: the parent's rules apply anyway. */
const noRules = { allow: [], ask: [], deny: [], allowlist: [], tools: {}, layers: {}, mode: 'yolo' } as const

/** Protected paths by workspace, including this program's own folder. */
function protections({ home }: AuthorityOptions): (root: string) => Protect {
  const known = new Map<string, Protect>()
  const own = home === undefined ? [] : [home]
  return (root) => {
    const protect = known.get(root) ?? createProtection({ root, home: homedir(), own })
    if (known.size > 100) known.clear() // one authority may serve any number of workspaces
    known.set(root, protect)
    return protect
  }
}

function settingsIn(options: AuthorityOptions): AuthoritySettings {
  const { mode, allow, ask, deny, allowlist, tools, workspaceReads } = options
  const all = { mode, allow, ask, deny, allowlist, tools, workspaceReads }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

const strictness = { allow: 0, ask: 1, deny: 2 }

/**
 * The stricter decision, with what both reach. Of two equal ones the one based on a grant: the gate still has to check it.
 */
function stricter(one: Decision, other: Decision): Decision {
  const difference = strictness[other.verdict] - strictness[one.verdict]
  const isOther = difference > 0 || (difference === 0 && other.by === 'grant')
  const { confinement: own, ...decision } = isOther ? other : one
  const confinement =
    decision.verdict === 'deny' ? undefined : narrower(own, isOther ? one.confinement : other.confinement)
  return confinement ? { ...decision, confinement } : decision
}
