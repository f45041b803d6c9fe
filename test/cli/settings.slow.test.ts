import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import type { Config } from '../../src/cli/config/config.ts'
import { configFields } from '../../src/cli/config/config-schema.ts'
import { type FakeDocker, startFakeDocker } from '../oracles/fake-docker.ts'
import { type MockService, type Reply, startMockService } from '../rpc/mock-service.ts'
import { sampleOf, testInTurns } from '../soak.ts'
import { type FakeIo, fakeIo } from './fake-io.ts'
import { commands, drivers, type Walked, write } from './prompt-commands.ts'

const test = testInTurns(2)

/** What is seen from outside of one prompt to an agent. */
interface Seen {
  readonly io: FakeIo
  /** The bodies of the requests to the model. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies
  readonly requests: readonly any[]
  /** stdout and stderr together. */
  readonly said: string
}

interface Case {
  /** The setting, with others that it needs to be seen. */
  readonly config: Config
  /** What the model does. Default: it says "ok". */
  readonly replies?: (tools: ToolNames) => readonly Reply[]
  readonly prepare?: (io: FakeIo) => void
  readonly cwd?: string
  readonly flags?: Partial<Record<Walked, readonly string[]>>
  check(seen: Seen, tools: ToolNames): void
  /** Commands that the setting is not about, and how its description says so. */
  readonly except?: { readonly commands: readonly Walked[]; readonly says: string }
}

/** Tools of the same kind, as each command has them. */
interface ToolNames {
  readonly fetch: string
  readonly other: string
  readonly change: { readonly call: string; readonly args: object }
}

function toolNames(command: Walked): ToolNames {
  const alarm = { call: 'alarm-clock', args: { wakeAtISO: '2999-01-01T00:00:00Z' } }
  if (command === 'agents' || command === 'schedules')
    return { fetch: 'web-fetch', other: 'manage-todo', change: alarm }
  const shell = command === 'rpc' ? 'bash' : 'shell'
  return { fetch: 'web_fetch', other: 'grep', change: { call: shell, args: { command: 'touch made' } } }
}

let service: MockService
let docker: FakeDocker
beforeAll(async () => {
  ;[service, docker] = await Promise.all([startMockService(), startFakeDocker({ images: ['settings-test'] })])
})
afterAll(() => Promise.all([service.close(), docker.close()]))

/** Asks for what needs a permission in the mode `ask`, and says "ok" when it has an answer. */
const fetches = ({ fetch }: ToolNames): Reply[] => [[{ call: fetch, args: { url: 'http://127.0.0.1:1/' } }]]
const changes = ({ change }: ToolNames): Reply[] => [[change]]
const toolResult = ({ requests }: Seen): string =>
  JSON.stringify(requests[1]?.messages.filter(({ role }: { role: string }) => role === 'tool') ?? 'none')
const namesOf = ({ requests: [first] }: Seen): string[] =>
  first.tools.map(({ function: { name } }: { function: { name: string } }) => name)
const mine = (): NonNullable<Config['providers']> => ({ mine: { baseURL: service.url, model: 'mine-1' } })
const servers: Config['mcpServers'] = {
  demo: { command: process.execPath, args: [fileURLToPath(new URL('mcp-server.mjs', import.meta.url)), 'demo'] },
}
const ofDefinitions: readonly Walked[] = ['agents', 'schedules']
const withoutDefinitions = commands.filter((command) => !ofDefinitions.includes(command))

/** The compiler finds a setting without a case. */
const cases: () => { readonly [Key in keyof Required<Config>]: Case } = () => ({
  provider: {
    config: { provider: 'mine', providers: mine() },
    check: ({ requests }) => expect(requests[0].model).toBe('mine-1'),
  },
  providers: {
    config: { providers: mine(), model: 'mine/other' },
    check: ({ requests }) => expect(requests[0].model).toBe('other'),
  },
  model: { config: { model: 'mock-2' }, check: ({ requests }) => expect(requests[0].model).toBe('mock-2') },
  profile: {
    config: { profile: 'plan' },
    replies: changes,
    check: (seen) => expect(toolResult(seen)).toContain('plan'),
  },
  preset: {
    config: { preset: 'basic' },
    check: (seen) => expect(namesOf(seen)).not.toContain('grep'),
    except: { commands: ofDefinitions, says: 'agents of libero agents have the tools of their definitions' },
  },
  system: {
    config: { system: 'Speak like a captain.' },
    check: ({ requests }) => expect(JSON.stringify(requests[0].messages)).toContain('Speak like a captain.'),
  },
  thinking: {
    config: { thinking: 'high' },
    check: ({ said }) => expect(said).toContain('--thinking high has no effect with mock'),
  },
  context: { config: { context: 'docker' }, check: ({ said }) => expect(said).toContain('needs an image') },
  image: {
    config: { context: 'docker', image: 'no-such-image' },
    check: ({ said }) => expect(said).toContain('no-such-image'),
  },
  sandbox: {
    config: { sandbox: 'off', mode: 'yolo' },
    check: ({ said }) => expect(said).toContain('no sandbox: it was switched off'),
  },
  sandboxPaths: {
    config: { sandboxPaths: { caches: ['~'] } },
    check: ({ said }) => expect(said).toContain('sandboxPaths.caches has "~", which contains your home folder'),
  },
  maxTurns: {
    config: { maxTurns: 1, mode: 'yolo' },
    replies: fetches,
    check: ({ requests }) => expect(requests).toHaveLength(1),
  },
  maxCost: {
    config: { maxCost: 1 },
    check: ({ said }) => expect(said).toContain('price'),
  },
  withoutTools: {
    config: { withoutTools: ['grep', 'manage_todo'] },
    check: (seen, { other }) => expect(namesOf(seen)).not.toContain(other),
  },
  claudeSkills: {
    config: { claudeSkills: true },
    prepare: (io) => write(io.userHome, '.claude/skills/tidy/SKILL.md', skill),
    flags: { rpc: ['--with-skills'] },
    check: ({ requests }) => expect(JSON.stringify(requests[0])).toContain('Tidies a drawer'),
  },
  claudeFiles: {
    config: { claudeFiles: true },
    prepare: (io) => write(io.userHome, '.claude/agents/tidy.md', subAgent),
    check: ({ requests }) => expect(JSON.stringify(requests[0].tools)).toContain('- tidy: Tidies a drawer'),
    except: {
      commands: ofDefinitions,
      says: 'which libero agents and libero schedules do not have',
    },
  },
  hooks: {
    config: { hooks: { UserPromptSubmit: [{ hooks: [{ type: 'command', command: 'echo "words of $(wc -c)"' }] }] } },
    check: ({ requests }) => expect(JSON.stringify(requests[0].messages)).toMatch(/words of +[1-9]/),
  },
  audit: {
    config: { audit: false, mode: 'yolo' },
    replies: fetches,
    check: ({ io, requests }) => expect([requests.length, existsSync(join(io.home, 'audit'))]).toEqual([2, false]),
  },
  sessions: {
    config: { sessions: 'elsewhere.db' },
    check: ({ io }) => expect(existsSync(join(io.home, 'elsewhere.db'))).toBe(true),
    except: { commands: ['rpc', 'mcp-serve'], says: 'libero rpc and libero mcp-serve store none' },
  },
  retention: {
    config: { retention: { auditDays: 1 }, mode: 'yolo' },
    prepare: (io) => write(io.home, 'audit/2020-01-01-1-00000000.jsonl', ''),
    replies: fetches,
    check: ({ io }) =>
      expect(readdirSync(join(io.home, 'audit')).map((name) => name.slice(0, 4))).not.toContain('2020'),
  },
  snapshots: {
    config: { snapshots: { enabled: false }, mode: 'yolo' },
    replies: changes,
    check: ({ io }) => expect(existsSync(join(io.home, 'snapshots'))).toBe(false),
  },
  mcpServers: { config: { mcpServers: servers! }, check: (seen) => expect(namesOf(seen)).toContain('mcp_demo_ask') },
  toolDisclosure: {
    config: { mcpServers: servers!, toolDisclosure: 'lazy' },
    check: (seen) => expect(namesOf(seen)).not.toContain('mcp_demo_ask'),
  },
  terminal: {
    config: { terminal: { showThinking: true } },
    check: () => {}, // test/tui/thinking.slow.test.ts
    except: { commands, says: 'the interactive terminal' },
  },
  wikis: {
    config: { wikis: { notes: { folder: 'no-such-wiki' } } },
    replies: () => [[{ call: 'wiki-list-tiddlers', args: { workspaceName: 'notes' } }]],
    check: (seen) => expect(toolResult(seen)).toContain('no-such-wiki'),
    except: { commands: withoutDefinitions, says: 'no other command has tools for them' },
  },
  agents: {
    config: { mode: 'yolo', agents: { approval: { 'web-fetch': { mode: 'confirm' } }, retry: { maxAttempts: 0 } } },
    replies: fetches,
    check: ({ requests }) => expect(requests).toHaveLength(1),
    except: { commands: withoutDefinitions, says: 'other commands have allow, ask and deny' },
  },
  mode: { config: { mode: 'plan' }, replies: changes, check: (seen) => expect(toolResult(seen)).toContain('plan') },
  allow: {
    config: { mode: 'ask', allow: ['net'] },
    replies: fetches,
    check: ({ requests }) => expect(requests).toHaveLength(2),
  },
  ask: {
    config: { mode: 'yolo', ask: ['net'] },
    replies: fetches,
    check: ({ requests }) => expect(requests).toHaveLength(1),
  },
  deny: {
    config: { mode: 'yolo', deny: ['net'] },
    replies: fetches,
    check: (seen) => expect(toolResult(seen)).toContain('denied by'),
  },
})

const subAgent = '---\nname: tidy\ndescription: Tidies a drawer.\ntools: Read\n---\nTidy it.\n'
const skill = '---\nname: tidy\ndescription: Tidies a drawer.\n---\nTidy it.\n'

describe('C01 every setting has its effect in every command that runs an agent', () => {
  test('C01 every setting has a case', () => {
    expect(Object.keys(cases()).sort()).toEqual(Object.keys(configFields).sort())
  })

  test.each(Object.keys(configFields) as (keyof Config)[])('C01 %s', async (key) => {
    const { config, except, ...one } = cases()[key]
    for (const command of sampleOf(commands, 2)) {
      if (except?.commands.includes(command)) {
        expect(configFields[key].description).toContain(except.says)
        continue
      }
      const tools = toolNames(command)
      const seen = await prompt(command, config, { ...one, replies: one.replies?.(tools) ?? [] })
      try {
        one.check(seen, tools)
      } catch (error) {
        throw new Error(`${key} has no effect in libero ${command}\n${seen.said}`, { cause: error })
      }
    }
  })
})

type Prompting = Pick<Case, 'prepare' | 'flags' | 'cwd'> & { readonly replies: readonly Reply[] }

/** Tells an agent "go" by one of the commands, on a machine with these settings. */
async function prompt(command: Walked, config: Config, { replies, prepare, flags, cwd }: Prompting): Promise<Seen> {
  const stdin = new PassThrough()
  const io = fakeIo({ stdin, env: { PATH: process.env.PATH }, ...(cwd !== undefined && { cwd }) })
  const settings: Config = {
    ...(config.model?.includes('/') ? {} : { provider: 'mock' }),
    ...config,
    providers: { mock: { baseURL: service.url, model: 'mock-1' }, ...config.providers },
  }
  write(io.home, 'config.json', JSON.stringify(settings))
  const plugins = ['web-fetch', 'manage-todo', 'alarm-clock', 'wiki-list-tiddlers'].map((toolId) => ({
    id: toolId,
    toolId,
  }))
  write(io.home, 'agents/tester.json', JSON.stringify({ id: 'tester', config: { plugins } }))
  prepare?.(io)
  service.play(...replies)
  const from = service.requests.length
  vi.stubEnv('DOCKER_HOST', `unix://${docker.socketPath}`)
  try {
    await drivers[command](io, stdin, flags?.[command] ?? [])
  } finally {
    vi.unstubAllEnvs()
    stdin.end()
  }
  const said = (io.said.out + io.said.err).replaceAll('\\"', '"') // a command that answers in JSON escapes quotes
  return { io, requests: service.requests.slice(from), said }
}
