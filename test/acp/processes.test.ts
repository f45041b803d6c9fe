import { execFile, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { compileCache } from '../compile-cache.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { toolFile } from '../stories/tool-layers-kit.ts'
import {
  callIn,
  choose,
  connect,
  type Desk,
  type Editor,
  type Frame,
  frameProblems,
  type Handlers,
  initialize,
  type Json,
  never,
  newSession,
  ofKind,
  openDesk,
  prompt,
  textOf,
} from './acp-kit.ts'

const main = await builtCli()
let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

const envOf = ({ home }: Desk) => ({ PATH: process.env.PATH ?? '', HOME: home, LIBERO_HOME: home, ...compileCache })

/** `libero acp` as a process of its own. */
async function startEditor(
  desk: Desk,
  handlers: Handlers = choose('allow'),
): Promise<{ editor: Editor; kill(): Promise<unknown>; stderr(): string }> {
  const child = spawn(process.execPath, [main, 'acp'], { cwd: desk.cwd, env: envOf(desk) })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  child.stdin.on('error', () => {})
  const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)))
  const editor = connect({ input: child.stdout, output: child.stdin, ended }, handlers)
  await initialize(editor)
  return {
    editor,
    stderr: () => stderr,
    kill() {
      child.kill('SIGKILL')
      return ended
    },
  }
}

test('AC22 a process that is killed in mid-prompt is resumed by session/load, and nothing is doubled', async () => {
  const desk = openDesk(service)
  desk.write('a.txt', 'a\n')
  const first = await startEditor(desk)
  const { sessionId } = await newSession(first.editor, desk)
  const held = gate()
  service.play(
    [{ say: 'I append.' }, { call: 'edit', args: { path: 'a.txt', old_string: 'a', new_string: 'a b' } }],
    [{ say: 'half an ans' }, { hang: held }],
  )
  void prompt(first.editor, sessionId, 'append b').catch(() => {})
  await held.reached
  await first.editor.until(({ params }) => params?.update?.content?.text?.startsWith('half'))
  await first.kill()
  held.open()

  const second = await startEditor(desk)
  const from = second.editor.frames.length
  await second.editor.request('session/load', { sessionId, cwd: desk.cwd, mcpServers: [] })
  const replayed = second.editor.frames.slice(from).flatMap(({ message }) => message.params?.update ?? [])
  expect([textOf(replayed, 'user_message_chunk'), textOf(replayed)]).toEqual(['append b', 'I append.'])
  expect(ofKind(replayed, 'tool_call')).toHaveLength(1)
  expect(callIn(replayed).status).toBe('completed')

  service.play([{ say: 'Done.' }])
  expect(await prompt(second.editor, sessionId, 'go on')).toEqual({ stopReason: 'end_turn' })
  expect(textOf(second.editor.updates(sessionId))).toBe('I append.Done.')
  const said: string = JSON.stringify(service.requests.at(-1).messages)
  expect(
    [said.match(/append b/g), said.match(/go on/g), said.match(/I append\./g)].map((found) => found?.length),
  ).toEqual([1, 1, 1])
  expect(desk.read('a.txt')).toBe('a b\n')
  expect(await second.editor.end()).toBe(0)
})

test('AC22 a call that waited for a permission when the process was killed is not run; the next prompt replaces it', async () => {
  const desk = openDesk(service)
  const asking = gate()
  const first = await startEditor(desk, {
    'session/request_permission': () => {
      asking.reach()
      return never
    },
  })
  const { sessionId } = await newSession(first.editor, desk)
  service.play([{ call: 'write_file', args: { path: 'a.txt', content: 'x' } }])
  void prompt(first.editor, sessionId, 'write').catch(() => {})
  await asking.reached
  await first.kill()
  expect(() => desk.read('a.txt')).toThrow()

  const second = await startEditor(desk)
  await second.editor.request('session/load', { sessionId, cwd: desk.cwd, mcpServers: [] })
  service.play([{ say: 'Done.' }])
  expect(await prompt(second.editor, sessionId, 'go on')).toEqual({ stopReason: 'end_turn' })
  const updates = second.editor.updates(sessionId)
  expect(ofKind(updates, 'tool_call').map(({ status }) => status)).toEqual(['pending'])
  expect(callIn(updates)).toMatchObject({ status: 'failed', rawOutput: expect.stringContaining('Skipped') })
  expect(() => desk.read('a.txt')).toThrow()
})

test('AC23 stdout has messages only, although a tool prints to it', async () => {
  const desk = openDesk(service)
  const noisy = toolFile('noisy', {
    execute: `async () => {
    console.log('noise from log')
    process.stdout.write('half a line')
    return { ok: true, value: 'quiet now' }
  }`,
  })
  mkdirSync(join(desk.home, 'tools'))
  writeFileSync(join(desk.home, 'tools', 'noisy.mjs'), `console.log('noise at import')\n${noisy}`)
  const { editor, stderr } = await startEditor(desk)
  const { sessionId } = await newSession(editor, desk)
  service.play([{ call: 'noisy', args: {} }])
  await prompt(editor, sessionId, 'go')
  expect(callIn(editor.updates(sessionId))).toMatchObject({ name: 'noisy', status: 'completed', kind: 'other' })
  expect(await editor.end()).toBe(0)
  expect(editor.frames.every(({ message }) => message.jsonrpc === '2.0')).toBe(true)
  for (const said of ['noise at import', 'noise from log', 'half a line']) expect(stderr()).toContain(said)
})

const acpx = fileURLToPath(new URL('../../node_modules/.bin/acpx', import.meta.url))

/** Runs a prompt with acpx, which prints the messages of both sides. */
async function runAcpx(desk: Desk, args: readonly string[], text: string): Promise<Frame[]> {
  const agent = `${process.execPath} ${main} acp`
  const flags = ['--agent', agent, '--cwd', desk.cwd, '--format', 'json', '--json-strict', ...args]
  const run = promisify(execFile)(process.execPath, [acpx, ...flags, 'exec', text], {
    cwd: desk.cwd,
    env: envOf(desk),
    timeout: 60_000,
    maxBuffer: 32 * 1024 * 1024,
  })
  const { stdout } = await run.catch((error: { stdout: string }) => error) // a denial is a failure of acpx
  const messages: Json[] = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  return messages.map((message) => ({ from: sideOf(message), message }))
}

/** acpx does not say who sent a message. */
const sideOf = ({ method }: Json): Frame['from'] => (ofAgent.test(method ?? '') ? 'agent' : 'editor')
const ofAgent = /^(?:session\/update|session\/request_permission|fs\/|terminal\/|elicitation\/)/

test('AC24 acpx drives a session: an edit that it approves, one that it denies', async () => {
  const desk = openDesk(service)
  desk.write('a.txt', 'one\n')
  const edit = { call: 'edit', args: { path: 'a.txt', old_string: 'one', new_string: 'two' } }
  service.play([{ say: 'I edit.' }, edit], [{ say: 'Edited.' }])
  const approved = await runAcpx(desk, ['--approve-all'], 'change it')
  expect(desk.read('a.txt')).toBe('two\n')
  const updates = approved.flatMap(({ message }) => message.params?.update ?? [])
  expect(textOf(updates)).toBe('I edit.Edited.')
  expect(callIn(updates)).toMatchObject({ kind: 'edit', status: 'completed', content: [{ type: 'diff' }] })
  expect(approved.map(({ message }) => message)).toContainEqual(
    expect.objectContaining({ result: { stopReason: 'end_turn' } }),
  )
  const methods = [...new Set(approved.flatMap(({ message }) => message.method ?? []))]
  expect(methods).toEqual(
    expect.arrayContaining(['initialize', 'session/new', 'session/prompt', 'session/request_permission']),
  )
  const checked = approved.filter(({ message }) => message.method !== undefined)
  expect(frameProblems(checked)).toEqual([])

  service.play(
    [{ call: 'edit', args: { path: 'a.txt', old_string: 'two', new_string: 'three' } }],
    [{ say: 'Not done.' }],
  )
  const denied = await runAcpx(desk, ['--deny-all'], 'change it again')
  expect(callIn(denied.flatMap(({ message }) => message.params?.update ?? [])).status).toBe('failed')
  expect(desk.read('a.txt')).toBe('two\n')
})
