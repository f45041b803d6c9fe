import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthorityOptions } from '../../authority/authority.ts'
import { AgentError, messageOf } from '../../core/errors.ts'
import type { Confinement } from '../../core/execution.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { HookScope } from '../../core/hooks.ts'
import { fireSessionTurns, userTurn } from '../../core/inbox.ts'
import type { Extension, Run } from '../../core/run.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import { type Message, type SessionTurn, textOf } from '../../core/turn.ts'
import { matchesWildcard, wildcard } from '../../platform/wildcard.ts'
import { isNamed, namesOf } from '../../skills/allowed-tools.ts'
import type { ConfiguredHook, ConfiguredHooks } from '../config/config.ts'
import { type HookAnswer, readHookOutput } from './hook-output.ts'

type Moment = keyof ConfiguredHooks

interface CommandHooksOptions extends HookPlace {
  readonly hooks: { readonly user?: ConfiguredHooks; readonly project?: ConfiguredHooks }
  /** Whether the project is trusted now. */
  readonly isTrusted: () => boolean
  /** Tells the person about a hook that failed and does not block. */
  readonly report: (problem: string) => void
}

/** How often hooks may make a run go on that would have ended. */
const mostContinuations = 5

/**
 * Programs of the settings as an extension: before and after tool calls, at a message, at the end of a run. They may block
 * or add words, and allow nothing.
 */
export function commandHooks(options: CommandHooksOptions): Extension {
  return {
    name: 'command-hooks',
    start(run, hooks) {
      const asked = new AskedHooks(run, options)
      if (asked.has('PreToolUse') || asked.has('PostToolUse')) followTools(hooks, asked)
      if (run.facts.depth > 0) return // a sub-agent's task is no message of a person, and its end not that of the run
      if (asked.has('UserPromptSubmit')) followPrompts(run, hooks, asked)
      if (asked.has('Stop')) followEnd(run, hooks, asked)
    },
  }
}

/** The hooks of one run. */
class AskedHooks {
  readonly #run: Run
  readonly #options: CommandHooksOptions
  readonly #reported = new Set<string>()

  constructor(run: Run, options: CommandHooksOptions) {
    this.#run = run
    this.#options = options
  }

  has(moment: Moment): boolean {
    return this.#of(moment).length > 0
  }

  /** Asks the hooks of a moment one after the other, until one blocks. */
  async ask(moment: Moment, input: object, tool?: Parameters<typeof isMatch>[1]): Promise<HookAnswer> {
    const { cwd, report } = this.#options
    const { sessionId, agent } = this.#run.facts
    const common = {
      session_id: sessionId ?? this.#run.id,
      cwd,
      hook_event_name: moment,
      ...(agent !== undefined && { agent }),
    }
    const words: string[] = []
    for (const { matcher, hook } of this.#of(moment)) {
      if (tool && !isMatch(matcher, tool)) continue
      const takesText = moment === 'UserPromptSubmit'
      const answer = await runHook(hook, { ...common, ...input }, { run: this.#run, place: this.#options, takesText })
      if (answer.skipped !== undefined) this.#reportOnce(`The hook ${shown(hook)} was not run: ${answer.skipped}`)
      if (answer.words !== undefined) words.push(answer.words)
      const { onFailure = defaultFor(moment) } = hook
      if (answer.block === undefined) continue
      if (!answer.isFailure) return { block: answer.block, ...joined(words) }
      const problem = `The hook ${shown(hook)} (${moment}) failed: ${answer.block}`
      if (onFailure === 'block') return { block: problem, ...joined(words) }
      report(problem)
    }
    return joined(words)
  }

  #reportOnce(problem: string): void {
    if (this.#reported.has(problem)) return
    this.#reported.add(problem)
    this.#options.report(problem)
  }

  #of(moment: Moment): { readonly matcher: string; readonly hook: OwnedHook }[] {
    const { hooks: given, isTrusted } = this.#options
    const { user, project = {} } = given
    return [
      ...(user?.[moment] ?? []).map((group) => ({ ...group, from: 'user' as const })),
      ...((isTrusted() && project[moment]) || []).map((group) => ({ ...group, from: 'project' as const })),
    ].flatMap(({ matcher = '', hooks, from }) => hooks.map((hook) => ({ matcher, hook: { ...hook, from } })))
  }
}

const shown = ({ command }: OwnedHook): string => JSON.stringify(command.slice(0, 80))

/** What comes before something happens is a gate, and a gate that fails is closed. */
const defaultFor = (moment: Moment): 'block' | 'continue' =>
  moment === 'PreToolUse' || moment === 'UserPromptSubmit' ? 'block' : 'continue'

const joined = (words: readonly string[]): HookAnswer => (words.length > 0 ? { words: words.join('\n') } : {})

/**
 * A matcher is a list of whole names, ours or those of Claude Code, in which a star stands for any characters: `shell`,
 * `Bash|edit`, `mcp__.*`. Upper and lower case are the same: a guard that is misspelt never runs. Not a regular
 * expression: one that a project brings could take forever; the check of the settings refuses what looks like one.
 */
export function isMatch(matcher: string, tool: { readonly name: string; readonly displayName: string }): boolean {
  if (matcher.trim() === '') return true
  return matcher.split('|').some((part) => {
    const name = part.trim().toLowerCase().replaceAll('.*', '*')
    const patterns = [name, name.replace(/^mcp__/, 'mcp_')].map(wildcard)
    return isNamed(name, tool) || namesOf(tool).some((one) => patterns.some((over) => matchesWildcard(over, one)))
  })
}

function followTools(hooks: HookScope<HookContexts>, asked: AskedHooks): void {
  /** What hooks said before a call, for its result. */
  const before = new Map<string, string>()
  hooks.hook('tool:gate', async (gate) => {
    if (gate.block || gate.halt !== undefined || gate.result !== undefined || !asked.has('PreToolUse')) return
    const { block, words } = await asked.ask('PreToolUse', callOf(gate), gate)
    if (words !== undefined) before.set(gate.callId, words)
    if (block === undefined) return
    gate.block = true
    gate.reason = `a hook refuses this call: ${block}`
  })
  hooks.hook('tool:transform', async (call) => {
    const answer = asked.has('PostToolUse')
      ? await asked.ask('PostToolUse', { ...callOf(call), tool_response: toolResultToText(call.result) }, call)
      : {}
    const words = [before.get(call.callId), answer.block, answer.words].filter((text) => text !== undefined)
    before.delete(call.callId)
    if (words.length === 0) return
    const added = `\n\nA hook says: ${words.join('\n')}`
    call.result =
      typeof call.result === 'string' ? call.result + added : [...call.result, { type: 'text', text: added }]
  })
}

const callOf = ({ name, input, callId }: { name: string; input: unknown; callId: string }) => ({
  tool_name: name,
  tool_input: input,
  tool_use_id: callId,
})

/** Messages are judged before the request that would bring them to the model. */
function followPrompts(run: Run, hooks: HookScope<HookContexts>, asked: AskedHooks): void {
  const { transcript } = run.log
  const seen = new Set<string>()
  const last = transcript.turns.at(-1)
  // A process that died may have left a message that no hook has seen.
  let hasNew = run.settings.options.prompt !== undefined || (last !== undefined && isMessage(last))
  hooks.hook('steer:inject', () => {
    hasNew = true
  })
  hooks.hook('request:prepare', async (request) => {
    if (!hasNew) return
    hasNew = false
    for (const message of messagesSinceReply(transcript.turns)) {
      if (seen.has(message.id) || isHidden(message, request.messages)) continue
      seen.add(message.id)
      const { block, words } = await asked.ask('UserPromptSubmit', { prompt: textOf(message) })
      if (block !== undefined) {
        await hide(run, message)
        request.refuse = new AgentError(`A hook refuses this message: ${block}`)
        return
      }
      if (words === undefined) continue
      const added = userTurn(run, [{ type: 'text', text: words }], { hook: 'UserPromptSubmit' })
      seen.add(added.id)
      await run.log.append({ type: 'turn', turn: added })
      await fireSessionTurns(run, added)
      request.messages = [...request.messages, added]
    }
  })
}

/** The messages that the model has not answered, in their order. */
function messagesSinceReply(turns: readonly SessionTurn[]): readonly SessionTurn[] {
  const reply = turns.findLastIndex(({ role }) => role === 'assistant')
  return turns.slice(reply + 1).filter(isMessage)
}

/** A hook refused it in an earlier run: the request has other words than the log. */
const isHidden = (turn: SessionTurn, messages: readonly Message[]): boolean =>
  messages.some(
    (one) => 'id' in one && one.id === turn.id && textOf(one) !== textOf(turn) && textOf(one).startsWith(refusal),
  )

const refusal = '(A hook refused this message.)'

const isMessage = ({ role, content }: SessionTurn): boolean =>
  role === 'user' && content.some(({ type }) => type !== 'tool_result')

/** The message stays in the log, and no request contains it. */
async function hide(run: Run, { id: turnId, content }: SessionTurn): Promise<void> {
  const replacement = { type: 'text', text: refusal } as const
  const edits = content.map((_, block) => ({ type: 'context_edit', turnId, block, replacement }) as const)
  await run.log.append(...edits)
}

function followEnd(run: Run, hooks: HookScope<HookContexts>, asked: AskedHooks): void {
  let continued = 0
  hooks.hook('turn:next', async (next) => {
    if (!next.stop || continued >= mostContinuations) return
    const last = run.log.transcript.findLastTurn(({ role }) => role === 'assistant')
    const { block } = await asked.ask('Stop', {
      stop_hook_active: continued > 0,
      last_assistant_message: last ? textOf(last) : '',
    })
    if (block === undefined) return
    continued++
    next.stop = false
    next.add.push(`A hook says: ${block}`)
  })
}

/** A hook, and whose it is. */
interface OwnedHook extends ConfiguredHook {
  readonly from: 'user' | 'project'
}

/** Where hooks run. */
interface HookPlace {
  /** The folder that the agent works in. */
  readonly cwd: string
  /** The user's own folder; programs in its `hooks` can be read in the sandbox. */
  readonly home: string
  readonly authority: AuthorityOptions
}

const defaultSeconds = 60
/** More than any answer needs; the rest is dropped. */
const mostOutput = 64 * 1024

/** Runs one hook with JSON on stdin. Never rejects. */
async function runHook(
  hook: OwnedHook,
  input: object,
  { run, place, takesText = false }: { readonly run: Run; readonly place: HookPlace; readonly takesText?: boolean },
): Promise<HookAnswer> {
  const { execution, handle } = run.host
  if (!execution || !handle) return { block: 'there is no place to run it', isFailure: true }
  const said = { stdout: '', stderr: '' }
  try {
    const confinement = await confinementFor(hook, place, run)
    if (confinement === 'none') return { skipped: 'hooks of a project run only in a sandbox, and there is none' }
    const end = await execution.exec(handle, hook.command, {
      cwd: place.cwd,
      input: JSON.stringify(input),
      timeout: (hook.timeout ?? defaultSeconds) * 1000,
      signal: run.cancellation.signal,
      env: { LIBERO_PROJECT_DIR: place.cwd, CLAUDE_PROJECT_DIR: place.cwd },
      onOutput: (text, from) => void (said[from] = (said[from] + text).slice(0, mostOutput)),
      ...(confinement && { confinement }),
    })
    return readHookOutput({ ...end, ...said }, { takesText })
  } catch (error) {
    return { block: `it could not be run: ${messageOf(error)}`, isFailure: true }
  }
}

/** The sandbox of a hook; undefined for none; `none` if it must have one and there is none: then it does not run. */
async function confinementFor(
  { from, sandbox = true }: OwnedHook,
  { cwd, home, authority }: HookPlace,
  { host: { execution, handle } }: Run,
): Promise<Confinement | undefined | 'none'> {
  if (execution!.type !== 'process') return undefined // a container is one
  if (!sandbox && from === 'user') return undefined
  const support = await execution!.sandbox?.(handle!)
  if (support?.isUntried) throw new Error(`its sandbox cannot be used now: ${support.why}`)
  if (!support?.profiles.includes('workspace-write')) return from === 'user' ? undefined : 'none'
  const [{ resolveSettings }, { workspaceConfinement }] = await Promise.all([
    import('../../authority/rules/settings.ts'),
    import('../../authority/confinement.ts'),
  ])
  const { layers, deny } = authority
  const { rules } = resolveSettings({ ...layers, ...(deny && { launch: { deny } }) })
  const scripts = join(home, 'hooks')
  const isUsers = from === 'user' && existsSync(scripts)
  return workspaceConfinement({ rules, root: cwd, ...(isUsers ? { reads: [scripts] } : { own: [home] }) })
}
