import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { AuditRecord } from '../../src/core/authority.ts'
import { toolResultToText } from '../../src/core/tool-output.ts'
import type { Message } from '../../src/core/turn.ts'
import { createAgent } from '../../src/create-agent.ts'
import { type LayeredTools, type LayeredToolsOptions, layeredTools } from '../../src/layers/index.ts'
import type { AgentOptions } from '../../src/presets/preset.ts'
import { call, type ScriptedProvider, type Step, scripted } from '../../src/testing/scripted.ts'

/** A home, a project, and all that was audited. The project is trusted unless a test says otherwise. */
export interface World {
  readonly home: string
  readonly project: string
  readonly audited: AuditRecord[]
  /** What the tools themselves noted, in order. */
  readonly notes: readonly string[]
  /** Writes a file, such as `home/tools/a.mjs` or `project/.libero/tools/a.mjs`. */
  write(path: string, text: string): Promise<string>
  layers(options?: LayeredToolsOptions): LayeredTools
}

export async function world(): Promise<World> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'libero-layers-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [home, project] = [join(folder, 'home'), join(folder, 'project')]
  await mkdir(join(home, 'tools'), { recursive: true })
  await mkdir(join(project, '.libero/tools'), { recursive: true })
  const audited: AuditRecord[] = []
  return {
    home,
    project,
    audited,
    get notes() {
      return audited.filter(({ event }) => event === 'ToolNote').map(({ details }) => String(details?.event))
    },
    async write(path, text) {
      const file = join(folder, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
      return file
    },
    layers: (options) =>
      layeredTools({
        home,
        projectRoot: project,
        mayReadProject: async () => true,
        audit: { write: (record) => void audited.push(record) },
        env: {},
        ...options,
      }),
  }
}

/** The text of a file with a tool; `fields` are JavaScript and replace what is there by default. */
export function toolFile(name: string, fields: Readonly<Record<string, string>> = {}): string {
  const all = {
    kind: `'Tool'`,
    contractVersion: `'1.0.0'`,
    requiredCoreVersion: `'>=0.1.0'`,
    configSchema: schema(''),
    stateSlot: 'null',
    reloadBehavior: `'between-turns'`,
    name: JSON.stringify(name),
    description: `'Does ${name}.'`,
    inputSchema: `{ type: 'object', properties: {} }`,
    executor: `'local'`,
    gated: 'true',
    deriveApprovalKey: `() => '${name}'`,
    lifecycle: '{}',
    execute: `async () => ({ ok: true, value: '${name} ran' })`,
    ...fields,
  }
  const lines = Object.entries(all).map(([field, source]) => `  ${field}: ${source},\n`)
  return `export default {\n${lines.join('')}}\n`
}

/** The source of a configuration schema with further properties, and with variables. */
export const schema = (properties: string, env: readonly string[] = []): string =>
  `{ type: 'object', additionalProperties: false, required: ['enabled'], 'x-env': ${JSON.stringify(env)},
    properties: { enabled: { type: 'boolean' }, timeoutMs: { type: 'integer', minimum: 1 }, ${properties} } }`

/** A lifecycle that notes each phase. */
export const notedLife = `{
    init: (host) => host.audit.write('init'),
    activate: (host) => host.audit.write('activate'),
    deactivate: (host) => host.audit.write('deactivate'),
    dispose: (host) => host.audit.write('dispose'),
  }`

export interface Ran {
  /** What each call came to, in order. */
  readonly results: string[]
  readonly provider: ScriptedProvider
}

/** One run in which the model says what it is told to. */
export async function runWith(
  layers: LayeredTools,
  steps: readonly Step[],
  more: Partial<AgentOptions> = {},
): Promise<Ran> {
  const provider = scripted(...steps)
  const agent = createAgent({ provider, extensions: [layers], ...more })
  onTestFinished(() => agent.destroy())
  await agent.run({ prompt: 'go' })
  return { results: resultsOf(agent.turns), provider }
}

/** A run that calls each of these tools once, one after another. */
export function runCalls(
  layers: LayeredTools,
  calls: readonly (readonly [name: string, input?: Record<string, unknown>])[],
  more: Partial<AgentOptions> = {},
): Promise<Ran> {
  const steps = calls.map(([name, input], i) => [call(`c${i}`, name, input)])
  return runWith(layers, [...steps, 'done'], more)
}

/** What calls came to, as the model was told. */
export function resultsOf(turns: readonly Message[]): string[] {
  return turns.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [toolResultToText(block.output)] : [])),
  )
}

/** The names of the tools that a model was offered in its first request. */
export const offered = ({ provider }: Ran): string[] => (provider.requests[0]?.tools ?? []).map(({ name }) => name)

/** Waits for something that happens by itself, within reason. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error('it never happened')
}
