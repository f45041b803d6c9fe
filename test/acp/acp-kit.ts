import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect, onTestFinished } from 'vitest'
import { libero } from '../../src/cli/libero.ts'
import { fakeIo } from '../cli/fake-io.ts'
import type { MockService } from '../rpc/mock-service.ts'

// biome-ignore lint/suspicious/noExplicitAny: messages are what tests look into
export type Json = any

/** A project with a home, whose model is the mock service. */
export interface Desk {
  readonly home: string
  readonly cwd: string
  write(path: string, text: string): void
  read(path: string): string
}

export function openDesk({ url }: Pick<MockService, 'url'>, config: object = {}): Desk {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-acp-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  const [home, cwd] = [join(folder, 'home'), join(folder, 'project')]
  mkdirSync(home, { mode: 0o700 })
  mkdirSync(cwd)
  const providers = { mock: { baseURL: url, model: 'mock-1', contextWindow: 1000 } }
  writeFileSync(
    join(home, 'config.json'),
    JSON.stringify({ provider: 'mock', providers, sandbox: 'off', snapshots: { enabled: false }, ...config }),
    { mode: 0o600 },
  )
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), text)
  }
  return { home, cwd, write: put, read: (path) => readFileSync(join(cwd, path), 'utf8') }
}

/** A message and who sent it. */
export interface Frame {
  readonly from: 'editor' | 'agent'
  readonly message: Json
  /** It may be anything. */
  readonly isHostile?: true
}

/** What the editor does with a request of the agent. */
export type Handlers = Readonly<Record<string, (params: Json) => unknown>>

/** An editor that talks to `libero acp`. Every message of both sides is checked against the published schema. */
export interface Editor {
  readonly frames: readonly Frame[]
  /** The result; rejects with the error of the answer. */
  request(method: string, params: object): Promise<Json>
  notify(method: string, params: object): void
  /** Sends what may be no message. */
  send(line: string): void
  /** The same as a request; resolves with the whole answer. */
  sendRequest(method: string, params: unknown): Promise<Json>
  /** The updates of a session so far. */
  updates(sessionId: string): Json[]
  /** Waits for a message of the agent, also one that came before. */
  until(matches: (message: Json) => boolean): Promise<Json>
  /** Ends the input, and waits until the agent has ended. */
  end(): Promise<number>
}

interface EditorOptions {
  readonly flags?: readonly string[]
  readonly handlers?: Handlers
  /** Of the editor; sent with `initialize`. */
  readonly capabilities?: object
}

/** `libero acp` in this process. */
export async function openEditor(desk: Desk, options: EditorOptions = {}): Promise<Editor> {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const io = Object.assign(fakeIo({ home: desk.home, cwd: desk.cwd, stdin, fetch: globalThis.fetch }), { stdout })
  io.env.PATH = process.env.PATH
  const ended = libero(['acp', ...(options.flags ?? [])], io)
  const editor = connect({ input: stdout, output: stdin, ended }, options.handlers)
  onTestFinished(async () => {
    stdin.end()
    await ended
  })
  await initialize(editor, options.capabilities)
  return editor
}

export function initialize(editor: Editor, clientCapabilities: object = {}): Promise<Json> {
  return editor.request('initialize', {
    protocolVersion: 1,
    clientCapabilities,
    clientInfo: { name: 'test', version: '1' },
  })
}

interface Wire {
  /** What the agent writes. */
  readonly input: Readable
  readonly output: Writable
  readonly ended: Promise<number>
}

export function connect({ input, output, ended }: Wire, handlers: Handlers = {}): Editor {
  const frames: Frame[] = []
  const looking = new Set<() => void>()
  const isOver = ended.then(
    () => look(),
    () => look(),
  )
  let asked = 0
  let isEnded = false
  void isOver.then(() => {
    isEnded = true
    look()
  })
  const look = (): void => {
    for (const one of [...looking]) one()
  }
  const write = (message: Json): void => {
    frames.push({ from: 'editor', message })
    output.write(`${JSON.stringify(message)}\n`)
  }
  createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
    const message = JSON.parse(line)
    frames.push({ from: 'agent', message })
    if (message.method !== undefined && message.id !== undefined) void answer(message)
    look()
  })
  async function answer({ id, method, params }: Json): Promise<void> {
    const handle = handlers[method]
    try {
      if (!handle) throw Object.assign(new Error(`no ${method}`), { code: -32601 })
      const result = await handle(params)
      if (result !== never) write({ jsonrpc: '2.0', id, result: result ?? {} })
    } catch (error) {
      const { code = -32603, message } = error as { code?: number; message: string }
      write({ jsonrpc: '2.0', id, error: { code, message } })
    }
  }
  onTestFinished(() => expect(frameProblems(frames)).toEqual([]))

  const editor: Editor = {
    frames,
    async request(method, params) {
      const id = `e${++asked}`
      write({ jsonrpc: '2.0', id, method, params })
      const reply = await editor.until((message) => message.id === id && message.method === undefined)
      if (reply.error) throw Object.assign(new Error(reply.error.message), reply.error)
      return reply.result
    },
    notify: (method, params) => write({ jsonrpc: '2.0', method, params }),
    send: (line) => void output.write(line),
    sendRequest(method, params) {
      const message = { jsonrpc: '2.0', id: `h${++asked}`, method, params }
      frames.push({ from: 'editor', message, isHostile: true })
      output.write(`${JSON.stringify(message)}\n`)
      return editor.until(({ id, method: asks }) => id === message.id && asks === undefined)
    },
    updates: (sessionId) =>
      frames.flatMap(({ message: { method, params } }) =>
        method === 'session/update' && params.sessionId === sessionId ? [params.update] : [],
      ),
    until: (matches) =>
      new Promise((resolve, reject) => {
        const told = (): string => frames.map(({ message }) => JSON.stringify(message).slice(0, 300)).join('\n')
        const timer = setTimeout(() => done(() => reject(new Error(`it never came:\n${told()}`))), patienceMs)
        const done = (then: () => void): void => {
          clearTimeout(timer)
          looking.delete(find)
          then()
        }
        const find = (): void => {
          const found = frames.find(({ from, message }) => from === 'agent' && matches(message))
          if (found) done(() => resolve(found.message))
          else if (isEnded) done(() => reject(new Error(`the agent has ended:\n${told()}`)))
        }
        looking.add(find)
        find()
      }),
    end() {
      output.end()
      return ended
    },
  }
  return editor
}

/** A handler that gives this leaves a request without an answer. */
export const never: unique symbol = Symbol('never')

const patienceMs = 20_000

/** Opens a session in the project. */
export async function newSession(editor: Editor, { cwd }: Pick<Desk, 'cwd'>, more: object = {}): Promise<Json> {
  return editor.request('session/new', { cwd, mcpServers: [], ...more })
}

export const prompt = (editor: Editor, sessionId: string, text: string): Promise<Json> =>
  editor.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })

/** The text that the agent said, or thought. */
export const textOf = (updates: readonly Json[], kind = 'agent_message_chunk'): string =>
  updates.flatMap((one) => (one.sessionUpdate === kind ? [one.content.text] : [])).join('')

export const ofKind = (updates: readonly Json[], kind: string): Json[] =>
  updates.filter(({ sessionUpdate }) => sessionUpdate === kind)

/** A call with all its updates applied. */
export function callIn(updates: readonly Json[], toolCallId?: string): Json {
  const own = updates.filter((one) => one.toolCallId !== undefined && [undefined, one.toolCallId].includes(toolCallId))
  return Object.assign({}, ...own)
}

/** A handler of permissions that chooses an option. */
export const choose = (optionId: string): Handlers => ({
  'session/request_permission': () => ({ outcome: { outcome: 'selected', optionId } }),
})

const schemaPath = fileURLToPath(
  new URL('../../node_modules/@agentclientprotocol/sdk/schema/v1/schema.json', import.meta.url),
)
const schema: Json = JSON.parse(readFileSync(schemaPath, 'utf8'))
const ajv = new Ajv2020({ strict: false, allErrors: false })
ajv.addSchema(schema, 'acp')
const formats = ['uint16', 'uint32', 'uint64', 'int32', 'int64', 'double', 'float', 'uri']
for (const format of formats) ajv.addFormat(format, true)

const validators = new Map<string, ValidateFunction | undefined>()

function validatorOf(method: string, end: RegExp): ValidateFunction | undefined {
  const key = `${method} ${end}`
  if (!validators.has(key)) {
    const found = Object.entries<Json>(schema.$defs).find(([name, def]) => def['x-method'] === method && end.test(name))
    validators.set(key, found && ajv.compile({ $ref: `acp#/$defs/${found[0]}` }))
  }
  return validators.get(key)
}

/** What the published schema says against messages; a method that it has not is a problem too. */
export function frameProblems(frames: readonly Frame[]): string[] {
  const asked = new Map<string, string>()
  return frames.flatMap(({ from, message, isHostile }) => {
    const { id, method, params, result, error } = message
    const shown = JSON.stringify(message).slice(0, 400)
    if (message.jsonrpc !== '2.0') return [`no JSON-RPC: ${shown}`]
    if (method !== undefined) {
      if (id !== undefined) asked.set(`${from} ${JSON.stringify(id)}`, method)
      return isHostile ? [] : problem(validatorOf(method, /(?:Request|Notification)$/), params, shown)
    }
    if (error) return Number.isInteger(error.code) && typeof error.message === 'string' ? [] : [`no error: ${shown}`]
    const of = asked.get(`${from === 'editor' ? 'agent' : 'editor'} ${JSON.stringify(id)}`)
    return of === undefined ? [`an answer to nothing: ${shown}`] : problem(validatorOf(of, /Response$/), result, shown)
  })
}

function problem(validate: ValidateFunction | undefined, value: unknown, shown: string): string[] {
  if (!validate) return [`not in the schema: ${shown}`]
  return validate(value) ? [] : [`${ajv.errorsText(validate.errors)}: ${shown}`]
}
