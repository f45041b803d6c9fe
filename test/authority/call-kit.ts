import { decide } from '../../src/authority/decide.ts'
import type { DecisionContext } from '../../src/authority/decision-context.ts'
import type { CommandFacts, EffectFact, JudgedCall, ShellFacts } from '../../src/authority/judged-call.ts'
import { type AuthoritySettings, resolveSettings, type SettingsLayers } from '../../src/authority/rules/settings.ts'
import type { Decision, Effect } from '../../src/core/authority.ts'
import type { SandboxSupport } from '../../src/core/execution.ts'

/** A call as the gate would put it together. */
export function judged(tool: string, rest: Partial<JudgedCall> = {}): JudgedCall {
  return { tool, origin: { layer: 'host' }, gated: true, input: {}, key: '.', effects: [], digest: 'd', ...rest }
}

/** A call that reads or writes one file inside the workspace; an absolute path lies outside. */
export function fileCall(effect: 'fs.read' | 'fs.write', target: string, rest: Partial<JudgedCall> = {}): JudgedCall {
  const fact: EffectFact = { effect, target, ...(target.startsWith('/') && { isOutside: true }) }
  return judged(effect === 'fs.read' ? 'read_file' : 'write_file', { effects: [fact], ...rest })
}

export const effectCall = (...effects: Effect[]): JudgedCall =>
  judged('tool', { effects: effects.map((effect) => ({ effect })) })

export type CommandOptions = Partial<Omit<CommandFacts, 'command'>> & Partial<CommandFacts['command']>

/** One command by hand; passes its table unless said otherwise. */
export function command(text: string, options: CommandOptions = {}): CommandFacts {
  const {
    table = 'passes',
    effects = [],
    isReadOnly = table === 'passes',
    inside = table === 'passes' || table === 'neutral' ? 'reads' : undefined,
    mayRemember = table !== 'none',
    why,
    ...rest
  } = options
  const words = text === '' ? [] : text.split(' ')
  return {
    command: { words, globs: [], env: {}, redirects: [], cwd: '.', via: [], isNested: false, ...rest },
    ...{ table, effects, isReadOnly, mayRemember, ...(inside && { inside }), ...(why !== undefined && { why }) },
  }
}

/** A call of the shell tool with these commands. */
export function line(commands: readonly CommandFacts[], rest: Partial<ShellFacts> = {}): JudgedCall {
  const shell: ShellFacts = { isWhole: true, obstacles: [], words: [], commands, ...rest }
  const effects: EffectFact[] = [{ effect: 'exec' }, ...commands.flatMap((one) => one.effects)]
  return judged('shell', { key: 'line', effects, shell })
}

/** The call as one whose words settle what it reads. */
export const strict = (call: JudgedCall): JudgedCall => ({ ...call, strict: { isStrict: true } })

/** Of a context that has both sandboxes. */
export const bothProfiles: SandboxSupport = { profiles: ['read-only', 'workspace-write'], by: 'test' }

/** A context under the settings of a launch, or of several layers. */
export function under(settings: AuthoritySettings, rest: Partial<DecisionContext> = {}): DecisionContext {
  return underLayers({ launch: settings }, rest)
}

export function underLayers(layers: SettingsLayers, rest: Partial<DecisionContext> = {}): DecisionContext {
  const { mode, rules } = resolveSettings(layers, { home: '/home/me' })
  return { mode, rules, root: '/desk/project', sandbox: bothProfiles, ...rest }
}

/** `verdict by`, as tables of decisions show it. */
export function shown(call: JudgedCall, context: DecisionContext): string {
  const { verdict, by }: Decision = decide(call, context)
  return `${verdict} ${by}`
}
