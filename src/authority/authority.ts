import { homedir } from 'node:os'
import type { AuditRecord, AuditSink, Decision } from '../core/authority.ts'
import type { Clock } from '../core/clock.ts'
import { createIds, systemClock } from '../core/clock.ts'
import { CodedError } from '../core/errors.ts'
import type { Interact, InteractionResponse } from '../core/interaction.ts'
import type { Extension } from '../core/run.ts'
import type { Session } from '../core/store.ts'
import { Suspended } from '../core/tool-context.ts'
import { createRedactor, type Redactor } from '../platform/redact.ts'
import { checkOptions } from './check-options.ts'
import { decide, type StageVerdict } from './decide.ts'
import { authorityExtension } from './extension.ts'
import { type AnswerKey, answerKeyFor, requireKey } from './grants/answer-key.ts'
import { createGrantFile } from './grants/grant-file.ts'
import { createGrants, type Grants } from './grants/grants.ts'
import { createInteractions, type Interactions } from './interaction/interactions.ts'
import type { Interactor } from './interaction/interactor-queue.ts'
import type { JudgedCall } from './judged-call.ts'
import { patternsIn } from './rules/patterns.ts'
import { createProtection, type Protect } from './rules/protected-paths.ts'
import { tightened } from './rules/rules.ts'
import {
  type AuthoritySettings,
  resolveSettings,
  type SecurityMode,
  type SettingsLayers,
  type ToolRule,
} from './rules/settings.ts'
import { createShellReader, type ShellReader } from './shell/shell-reader.ts'
import type { StateMachine } from './stages/state-machine.ts'
import { createTimeLimits, type TimeLimits } from './time-limits.ts'

/** What `createAuthority`, and `createAgent({ authority })`, take. The rules among them are those of this launch. */
export interface AuthorityOptions extends AuthoritySettings {
  /** What the package, the user and the project say; see `loadSettings`. */
  readonly layers?: Omit<SettingsLayers, 'launch'>
  /** Who can be asked. More may attach later. */
  readonly interactors?: readonly (Interactor | Interactor['present'])[]
  /** Asked after everything else allowed a call; a text refuses it, and so does a failure. */
  readonly guards?: readonly Guard[]
  readonly stateMachine?: StateMachine
  readonly audit?: AuditSink
  /**
   * The user's own folder, such as `~/.libero`. Grants and the key that signs answers are kept there, and so outlive
   * this process. Without it both end with the process.
   */
  readonly home?: string
  /** Signs answers in place of the key in `home`: the same on every machine that may answer. */
  readonly answerSecret?: Uint8Array
  /** Whether approvals may be given for a whole project. Default false. */
  readonly projectGrants?: boolean
  /** Default: where the agent's tools run, and not trusted. */
  readonly workspace?: { readonly root?: string; readonly isTrusted?: boolean | (() => boolean) }
  /** What happens when nobody can be asked. Default `halt`; `yolo` says yes to everything, and is written down. */
  readonly headless?: 'halt' | 'yolo'
  /** What becomes of what is asked about in every mode, where nobody should be. Default `ask`. */
  readonly floor?: 'ask' | 'deny'
  /** One prompt for all calls of a turn that have to be asked about. Default false: one after another. */
  readonly batchPrompts?: boolean
  /** How long an approval may take, in milliseconds. Default 120,000. */
  readonly approvalTimeoutMs?: number
  /** Masked in what people are shown, beside what looks like a secret or stands in the environment as one. */
  readonly secrets?: readonly string[]
  readonly clock?: Clock
  readonly newId?: () => string
}

/** May refuse what everything else allowed: with a text that says why, or by failing. */
export type Guard = (
  call: JudgedCall,
  decision: Decision,
) => string | undefined | void | Promise<string | undefined | void>

/** Who may do what. One serves an agent and all its children; several agents may share one. */
export interface Authority {
  readonly mode: SecurityMode
  /** What settings were left out, and why. */
  readonly warnings: readonly string[]
  readonly interactions: Interactions
  readonly grants: Grants
  readonly guards: readonly Guard[]
  /** What the stack says about a call, before guards and people. */
  judge(call: JudgedCall, asker?: CallScope): Promise<Decision>
  /** Adds rules that deny or ask; they hold from the next call on, in children under way too. */
  tighten(settings: Pick<AuthoritySettings, 'deny' | 'ask'>): void
  /**
   * Puts other rules by tool in the place of those of this launch; those of other layers stay. They hold from the next
   * call on, in runs and children under way too, time limits included. Wrong ones are refused, and the old ones stay.
   * It may loosen, so it is for the host's own settings; `plan` stays `plan`.
   */
  setToolRules(tools: Readonly<Record<string, ToolRule>>): void
  /** The same authority under further rules, or those of another one, for a child: what both allow is allowed. */
  narrow(by: (AuthoritySettings & Pick<AuthorityOptions, 'guards'>) | Authority): Authority
  attach(interactor: Interactor | Interactor['present']): () => void
  /** Decides about a call that waits in a session, from whichever process; signed, so that it counts. */
  answer(session: Session, callId: string, answer: SessionAnswer): Promise<void>
  readonly interact: Interact
  extension(): Extension
  close(): Promise<void>
}

/** What somebody decided about a call that waits in a session. */
export interface SessionAnswer {
  readonly decision: 'allow' | 'deny'
  readonly by?: string
  /** For the model. */
  readonly note?: string
}

/** Whose call it is, for grants and state machines. */
export interface CallScope {
  readonly callId: string
  /** The session of the call first, then those above it. */
  readonly sessionIds: readonly string[]
  readonly project: string
  /** What the state machine says about the call. */
  readonly stage?: StageVerdict
}

/** What the gate works with. */
export interface AuthorityParts {
  readonly options: AuthorityOptions
  readonly clock: Clock
  readonly audit: AuditSink
  readonly redactor: Redactor
  readonly reader: ShellReader
  readonly interactions: Interactions
  readonly grants: Grants
  key(): Promise<AnswerKey>
  ready(): Promise<void>
  /** By rules, for tools that have none of their own. */
  readonly limits: TimeLimits
}

/** Puts an authority together. Wrong settings are refused here, before anything runs. */
export function createAuthority(options: AuthorityOptions = {}): Authority {
  return build(options, partsOf(options), [])
}

function partsOf(options: AuthorityOptions): AuthorityParts {
  const { clock = systemClock, newId = createIds(), audit = nowhere, home, projectGrants = false } = options
  // What screens were told is noted where it can be; only decisions depend on being written.
  const note = (record: AuditRecord): void => void Promise.resolve(audit.write(record)).catch(() => {})
  const interactions = createInteractions({
    clock,
    newId,
    headless: options.headless ?? 'halt',
    onEvent: ({ type, ...details }) => {
      // Whoever writes a screen has to see his mistake; to all others it looks as if nobody was there.
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
    key: () => (key ??= answerKeyFor(options)),
    ready: () => grants.load(),
    limits: createTimeLimits(() => ({})),
  }
}

const nowhere: AuditSink = { write() {} }

function build(options: AuthorityOptions, shared: AuthorityParts, above: readonly Authority[]): Authority {
  checkOptions(options)
  const settings = resolveSettings({ ...options.layers, launch: settingsIn(options) })
  let { rules } = settings
  const { mode } = settings
  const { interactions, grants } = shared
  const { guards = [] } = options
  const protectionOf = protections(options)

  async function judge(call: JudgedCall, asker?: CallScope): Promise<Decision> {
    const current = rules // they may be replaced while patterns are tried
    const rule = current.tools[call.tool]
    let decision = decide(call, {
      mode,
      rules: current,
      ...(asker && { root: asker.project, protect: protectionOf(asker.project) }),
      // What a person would have to approve is not approved by a program that says yes to everything.
      floor: options.floor ?? (interactions.whoAnswers('Approve') === 'yolo' ? 'deny' : 'ask'),
      patterns: rule && (await patternsIn(call, rule)),
      ...(asker?.stage && { stage: asker.stage }),
      grant: () => asker && grants.find({ ...call, ...asker }),
    })
    for (const other of above) decision = stricter(await other.judge(call, asker), decision)
    return decision
  }

  const parts: AuthorityParts = { ...shared, limits: createTimeLimits(() => rules.tools, { above: shared.limits }) }
  const authority: Authority = {
    mode,
    warnings: settings.warnings,
    interactions,
    grants,
    guards,
    judge,
    tighten(more) {
      rules = tightened(rules, more)
    },
    setToolRules(tools) {
      // Nothing at all would pass for no rules.
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
    async answer(session, callId, { decision, by = 'user', note }) {
      const pending = session.pending.find((one) => one.callId === callId)
      if (pending?.decision)
        throw new CodedError(
          'Session/InteractionAlreadyAnswered',
          `call "${callId}" was answered before with "${pending.decision}"; the first answer counts`,
        )
      const digest = pending?.digest ?? ''
      const key = await shared.key()
      if (decision === 'allow') requireKey(callId, key, pending)
      const mac = decision === 'allow' && { mac: key.sign({ sessionId: session.id, callId, digest, decision, by }) }
      await session.answer(callId, { decision, by, ...mac, ...(note !== undefined && { content: note }) })
    },
    async interact(request, signal, asking) {
      const outcome = await interactions.interact(request, { signal })
      if (outcome.status !== 'nobody' && outcome.status !== 'left') return outcome as InteractionResponse
      // Whoever could answer has left: what is kept can be answered later.
      if (outcome.status === 'left' && !asking?.isDurable)
        return { status: 'rejected', reason: 'nobody is there any more' }
      throw new Suspended('permission-required')
    },
    extension: () => authorityExtension(authority, parts),
    async close() {
      await parts.reader.close()
    },
  }
  return authority
}

const isAuthority = (given: object): given is Authority => 'judge' in given

/** What a child does not inherit as its own: it stands under its parent's rules anyway. */
const noRules = { allow: [], ask: [], deny: [], allowlist: [], tools: {}, layers: {}, mode: 'yolo' } as const

/** Which paths are protected, in each workspace: this program's own folder among them. */
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

/** Of two that say the same, the one that rests on an approval: it may turn out not to hold any more. */
function stricter(one: Decision, other: Decision): Decision {
  const difference = strictness[other.verdict] - strictness[one.verdict]
  if (difference === 0) return other.by === 'grant' ? other : one
  return difference > 0 ? other : one
}
