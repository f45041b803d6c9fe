import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Authority, createAuthority } from '../../authority/authority.ts'
import type { Interactor } from '../../authority/interaction/interactor-line.ts'
import type { Agent } from '../../core/agent.ts'
import type { Behavior } from '../../core/behavior.ts'
import { messageOf } from '../../core/errors.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import type { LogEntry } from '../../core/log.ts'
import type { Extension } from '../../core/run.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import type { ToolDef } from '../../core/tool.ts'
import { createAgent, type LiberoAgent } from '../../create-agent.ts'
import { createProcessContext } from '../../execution/process.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Preset } from '../../presets/preset.ts'
import { build, plan } from '../../presets/profiles.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import { defaultTurns } from '../config/defaults.ts'
import type { Io } from '../io.ts'
import { checkedFlags, serversHere } from '../mcp/servers-here.ts'
import { linesView, type ServersView } from '../mcp/servers-view.ts'
import { type ChosenModel, chooseModel } from '../models/choose-model.ts'
import { notePlace } from '../sessions/note-place.ts'
import { type OpenedSession, type OpenSessionOptions, openSession } from '../sessions/open-session.ts'
import { openStore, sessionsPath } from '../sessions/open-store.ts'
import { placeOf } from '../sessions/place.ts'
import { skillsOption } from '../skills/skills-option.ts'
import { readSchema } from './read-schema.ts'
import { ruleTypos } from './rule-typos.ts'
import { systemPrompt } from './system-prompt.ts'
import { openWorkspace, type Workspace } from './workspace.ts'

/** An agent as the command line makes it, with everything it stands on. */
export interface OpenedAgent {
  readonly agent: Agent
  readonly authority: Authority
  readonly chosen: ChosenModel
  readonly session: Session | undefined
  /** What the session's log holds after an entry; nothing where none is kept. */
  entries(after: number): Promise<readonly LogEntry[]>
  readonly thinking: ThinkingLevel | undefined
  /** For a person, before it starts. */
  readonly notices: readonly string[]
  close(): Promise<void>
}

export interface OpenOptions extends OpenSessionOptions {
  readonly io: Io
  /** Absolute. */
  readonly cwd: string
  /** Who can be asked. Without one a run halts where it would ask. */
  readonly person?: Interactor
  /** Hears what MCP servers do to a run. Default: lines on stderr. */
  readonly servers?: ServersView
}

/** Puts an agent together from flags, settings and what there is on this machine. Nothing is started yet. */
export async function openAgent(values: RunValues, options: OpenOptions): Promise<OpenedAgent> {
  const { io, cwd, person, servers: view = linesView(io.err) } = options
  const flags = await checkedFlags(values.mcp, io)
  const workspace = await openWorkspace(cwd, { io, ...(person && { person }) })
  const { config } = workspace.loaded
  const profile = values.profile ?? config.profile
  const behavior = await behaviorOf(values, config, cwd)
  const execution = await executionOf(values, config, cwd)
  const preset = await presetOf(values.preset ?? profile ?? config.preset ?? 'build')
  const authority = await authorityOf(values, workspace, preset, options)
  const layers = await toolsInFiles(workspace, authority, io)
  const servers = await serversHere(flags, { workspace, io, view })
  const kept = values['no-session'] ? undefined : await keptSession(values, config, options)
  const { chosen, notice } = await modelFor(values, kept?.session, config, io)
  const agent = createAgent({
    ...preset,
    provider: chosen.provider,
    system: systemPrompt(cwd, workspace.project.instructions, joined(preset.system, config.system, values.system)),
    tools: without(preset.tools ?? {}, config.withoutTools ?? []),
    behavior: { ...preset.behavior, ...behavior },
    execution,
    authority,
    ...skillsOption(workspace, io, values.skill),
    extensions: [...layers, notePlace(cwd)],
    ...servers?.options,
    ...(kept && { session: kept.session }),
  })
  servers?.follow(agent)
  for (const name of values.skill ?? []) await begin(agent, name)
  return {
    agent,
    authority,
    chosen,
    session: kept?.session,
    entries: async (after) => (kept ? kept.store.read(kept.session.id, after) : []),
    thinking: values.thinking ?? config.thinking,
    notices: [
      ...workspace.loaded.warnings,
      ...authority.warnings,
      ...ruleTypos(
        [values.allow, values.deny, config.allow, config.ask, config.deny].flatMap((rules) => rules ?? []),
        Object.values(preset.tools ?? {}).map(({ spec }) => spec.name),
      ),
      ...aboutProject(workspace, io),
      ...(servers?.notices ?? []),
      ...(notice === undefined ? [] : [notice]),
      ...aboutThinking(chosen, values.thinking ?? config.thinking),
      ...(kept?.begunIn === undefined ? [] : [`This session was begun in ${kept.begunIn}; tools now work in ${cwd}.`]),
    ],
    async close() {
      await agent.destroy()
      workspace.project.dispose()
      await authority.close()
      await kept?.store.close?.()
    },
  }
}

/** What flags say; else, in a session that goes on, the model it was on, if that is still to be had. */
async function modelFor(
  { provider, model }: RunValues,
  session: Session | undefined,
  config: Config,
  io: Io,
): Promise<{ readonly chosen: ChosenModel; readonly notice?: string }> {
  const last = session?.turns.findLast(({ role }) => role === 'assistant')
  const isOpen = provider === undefined && model === undefined
  // Whoever has a key by now does not want to go on with rules.
  if (!isOpen || last?.provider === undefined || last.model === undefined || last.provider === 'offline')
    return { chosen: await chooseModel({ provider, model }, config, io) }
  try {
    return { chosen: await chooseModel({ provider: last.provider, model: last.model }, config, io) }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const notice = `This session was on ${fullyVisible(last.provider)} ${fullyVisible(last.model)}, which is not to be had now: ${error.message}`
    return { chosen: await chooseModel({}, config, io), notice }
  }
}

async function begin(agent: LiberoAgent, skill: string): Promise<void> {
  await agent.activateSkill(skill).catch((error: unknown) => {
    const advice = 'what is left out here, and why, is said by: libero skills'
    throw new UsageError(`--skill ${skill}: ${messageOf(error)}; ${advice}`, { cause: error })
  })
}

/** How a service of somebody's own is asked to think nobody knows. */
function aboutThinking({ name, isConfigured }: ChosenModel, thinking: ThinkingLevel | undefined): string[] {
  if (!isConfigured || thinking === undefined || thinking === 'off') return []
  return [`--thinking ${thinking} has no effect with ${fullyVisible(name)}: how it is asked to think is not known.`]
}

/** The user's home holds our own folder, and is no project for that. */
function aboutProject({ project: { notice, root } }: Workspace, { home }: Io): string[] {
  return notice === undefined || root === placeOf(dirname(home)) ? [] : [notice]
}

const joined = (...texts: (string | undefined)[]): string | undefined =>
  texts.filter((text) => text !== undefined).join('\n\n') || undefined

async function behaviorOf(values: RunValues, config: Config, cwd: string): Promise<Behavior> {
  const maxCost = smaller(numberOf(values['max-cost']), config.maxCost)
  return {
    maxTurns: smaller(numberOf(values['max-turns']), config.maxTurns) ?? defaultTurns,
    compactStrategy: 'summary',
    ...(maxCost !== undefined && { limits: { cost: maxCost } }),
    ...(config.toolDisclosure && { toolDisclosure: config.toolDisclosure }),
    ...(values.schema !== undefined && { schema: await readSchema(values.schema, cwd) }),
  }
}

const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

/** Of two limits the stricter one: a project's must not be lifted by a flag's default, nor the other way round. */
function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

async function executionOf(values: RunValues, config: Config, cwd: string): Promise<ExecutionContext> {
  const context = values.context ?? config.context ?? 'process'
  if (context === 'docker') {
    const image = values.image?.[0] ?? config.image
    if (image === undefined) throw new UsageError('--context docker needs an image: add --image node:24')
    return (await import('../../execution/docker.ts')).createDockerContext({ image, cwd })
  }
  if (values.sandbox ?? config.sandbox) {
    // Said before a model is asked and a tool fails of it.
    await (await import('../../execution/bubblewrap/check.ts')).findBubblewrap(undefined, [cwd])
    return (await import('../../execution/bubblewrap.ts')).createBubblewrapContext({ cwd })
  }
  return createProcessContext({ cwd })
}

async function presetOf(name: 'basic' | 'coding' | 'build' | 'plan'): Promise<Preset> {
  if (name === 'basic') return (await import('../../presets/basic.ts')).basic
  if (name === 'coding') return (await import('../../presets/coding.ts')).coding
  return name === 'plan' ? plan : build
}

function without(tools: Readonly<Record<string, ToolDef>>, names: readonly string[]): Record<string, ToolDef> {
  return Object.fromEntries(Object.entries(tools).filter(([, { spec }]) => !names.includes(spec.name)))
}

async function authorityOf(
  values: RunValues,
  { cwd, project, loaded: { layers } }: Workspace,
  preset: Preset,
  { io, person }: OpenOptions,
): Promise<Authority> {
  // A profile that only looks decides; one that asks leaves it to the settings, which may say otherwise.
  const mode = values.yolo ? 'yolo' : (values.mode ?? (isPlan(preset) ? 'plan' : undefined))
  return createAuthority({
    layers,
    home: io.home,
    workspace: { root: cwd, isTrusted: project.isTrusted },
    ...(mode && { mode }),
    ...(values.allow && { allow: values.allow }),
    ...(values.deny && { deny: values.deny }),
    ...(values.yolo && { headless: 'yolo' as const }),
    ...(person && { interactors: [person] }),
  })
}

const isPlan = ({ authority }: Preset): boolean => authority?.mode === 'plan'

/** None where there is no folder of tools: to look for them is more than to find nothing. */
async function toolsInFiles({ cwd, project }: Workspace, authority: Authority, { home }: Io): Promise<Extension[]> {
  if (!existsSync(join(home, 'tools')) && !existsSync(join(cwd, '.libero', 'tools'))) return []
  const { layeredTools } = await import('../../layers/layered-tools.ts')
  const { interact } = authority
  const { mayReadTools: mayReadProject, revoked } = project
  return [layeredTools({ home, projectRoot: cwd, mayReadProject, revoked, interact })]
}

async function keptSession(
  { resume, continue: goesOn, fork }: RunValues,
  config: Config,
  { io, cwd, pick }: OpenOptions,
): Promise<OpenedSession & { readonly store: SessionStore }> {
  const store = await openStore(sessionsPath(config, io))
  const wish = { cwd, ...(resume && { resume }), ...(goesOn && { continue: true }), ...(fork && { fork: true }) }
  const opened = await openSession(store, wish, pick ? { pick } : {})
  return { ...opened, store }
}
