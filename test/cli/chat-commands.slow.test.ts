import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createFileAudit } from '../../src/authority/audit/audit-file.ts'
import { auditFolder } from '../../src/cli/audit/open-audit.ts'
import { createWebOfChat } from '../../src/cli/chat/web-command.ts'
import { builtInCommands, loadCommands } from '../../src/cli/chat-commands/load-commands.ts'
import { openStore } from '../../src/cli/sessions/open-store.ts'
import { call } from '../../src/testing/scripted.ts'
import { openScene, type Scene, type SceneOptions } from '../chat/scene.ts'
import { fakeIo } from './fake-io.ts'

let home = ''
let project = ''
const scenes: Scene[] = []
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'libero-home-')))
  project = realpathSync(mkdtempSync(join(tmpdir(), 'libero-project-')))
})
afterEach(async () => {
  for (const one of scenes.splice(0)) await one.close()
  for (const path of [home, project]) rmSync(path, { recursive: true, force: true })
})

const ioHere = () => fakeIo({ home, cwd: project, userHome: home, env: {} })

async function scene(options: SceneOptions = {}): Promise<Scene> {
  const opened = await openScene({ commands: builtInCommands(ioHere()), folder: project, ...options })
  scenes.push(opened)
  return opened
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

describe('UI52 commands of the command line inside a chat', () => {
  test('UI52 /tools, /skills, /agents, /schedules and /doctor show what the commands print', async () => {
    const { type, screen } = await scene()
    for (const line of ['/tools', '/skills', '/agents', '/schedules', '/doctor']) await type(line)
    expect(screen.viewed.map(({ title }) => title)).toEqual(['Doctor'])
    expect(screen.viewed[0]?.text).not.toContain('undefined')
    const [tools, skills, agents, schedules] = screen.printed
    expect(tools).toMatch(/^read_file .*program/m)
    expect(skills).toContain('There are no skills in this folder')
    expect(agents).toMatch(/no agents|agents new/)
    expect(schedules).toContain('There are no schedules')
  })

  test('UI52 /policy explains a command in the mode of the conversation, and /sandbox where it would run', async () => {
    const { type, screen, chat } = await scene()
    await type('/policy rm -rf build')
    expect(screen.printed.at(-1)).toMatch(/^ask \(.*\neffects: .*exec/)
    await chat.set({ mode: 'plan' })
    await type('/policy rm -rf build')
    expect(screen.printed.at(-1)).toMatch(/^deny \(plan\)/)
    await type('/sandbox')
    expect([...screen.printed, ...screen.viewed.map(({ text }) => text)].at(-1)).toMatch(/sandbox|workspace/i)
  })

  test('UI52 /login stores a key that is asked for as a secret, and /logout deletes it', async () => {
    const { type, screen } = await scene()
    const asked: unknown[] = []
    const ask = async (...given: unknown[]): Promise<string> => {
      asked.push(given)
      return 'sk-test-0123456789'
    }
    Object.assign(screen, { ask })
    await type('/login groq')
    expect(asked).toEqual([[expect.stringContaining('groq'), '', { isSecret: true }]])
    expect(readFileSync(join(home, 'credentials.json'), 'utf8')).toContain('sk-test-0123456789')
    expect(screen.printed.join('\n')).not.toContain('sk-test')
    screen.choices.push('groq')
    await type('/logout')
    expect(readFileSync(join(home, 'credentials.json'), 'utf8')).not.toContain('sk-test')
    await expect(type('/logout')).rejects.toThrow('No key and no login is stored')
  })

  test('UI52 /mcp offers to test a server, to log in and out', async () => {
    write(join(home, 'config.json'), JSON.stringify({ mcpServers: { docs: { url: 'http://127.0.0.1:9/mcp' } } }))
    const { type, screen } = await scene()
    screen.choices.push('docs', 'o  log out')
    await type('/mcp')
    expect(screen.questions[0]?.items).toEqual([{ label: 'docs', detail: expect.stringContaining('http') }])
    expect(screen.questions[1]?.items.map(({ label }) => label[0])).toEqual(['t', 'l', 'o'])
    expect(screen.printed).toEqual(['There was no login to "docs"'])
  })

  test('UI52 /trust trusts what it has shown, and revokes it', async () => {
    write(join(project, '.libero/commands/deploy.md'), 'Deploy.')
    const { type, screen } = await scene()
    const names = async () => (await loadCommands(ioHere(), project)).commands.map(({ name }) => name)
    expect(await names()).not.toContain('deploy')
    screen.choices.push('trust it as it is now')
    await type('/trust')
    expect(screen.printed[0]).toContain('- command: .libero/commands/deploy.md')
    expect(await names()).toContain('deploy')
    screen.choices.push('trust it no longer')
    await type('/trust')
    expect(await names()).not.toContain('deploy')
  })
})

test('UI53 /export writes Markdown, a page or JSON Lines, and overwrites nothing', async () => {
  const store = await openStore(join(home, 'sessions.db'))
  const { type, say, screen } = await scene({ steps: ['An answer.'], store })
  await expect(type('/export')).rejects.toThrow('There is nothing to export yet')
  await say('A question')
  await type('/export')
  await type('/export html')
  await type('/export md')
  await type('/export all.jsonl')
  expect(readFileSync(join(project, 'a-question.md'), 'utf8')).toContain('An answer.')
  expect(readFileSync(join(project, 'a-question.html'), 'utf8')).toContain('<html')
  expect(existsSync(join(project, 'a-question-2.md'))).toBe(true)
  expect(readFileSync(join(project, 'all.jsonl'), 'utf8')).toContain('A question')
  expect(screen.printed[0]).toBe('Wrote a-question.md')
  await expect(type('/export all.jsonl')).rejects.toThrow('exists already')
  await expect(type('/export all.doc')).rejects.toThrow('has none of the endings')
  await store.close?.()
})

test('WB132 /web serves the page of the session until the chat ends, and the chat follows what the page does', async () => {
  const path = process.env.PATH
  onTestFinished(() => void (process.env.PATH = path))
  process.env.PATH = project // no program that could open a browser
  const store = await openStore(join(home, 'sessions.db'))
  const web = createWebOfChat({ deny: ['net'], preset: 'basic' }, ioHere())
  onTestFinished(() => web.close())
  const commands = web.withWeb(builtInCommands(ioHere()))
  const { type, say, screen, chat } = await scene({ steps: ['An answer.', 'Typed.'], store, commands })
  await expect(type('/web')).rejects.toThrow('send one first')
  await say('A question')
  const model = { provider: 'offline', model: 'offline' }
  await chat.set({ model, mode: 'plan' })
  await type('/web')
  const [, address, id, token] = /(http:\/\/[^/]+)\/s\/([^#]+)#token=(\S+)$/m.exec(screen.printed.join('\n'))!
  expect(screen.printed.join('\n')).toContain('open the address above yourself')
  const session = `${address}/v1/sessions/${id}`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  expect((await fetch(`${address}/s/${id}`)).headers.get('content-type')).toContain('text/html')
  expect(await (await fetch(session, { headers })).json()).toMatchObject({ id, title: 'A question' })
  expect(await (await fetch(`${session}/settings`, { headers })).json()).toMatchObject({
    now: { mode: 'plan', profile: 'basic', model: { provider: 'offline' } },
  })
  expect(await (await fetch(`${address}/v1/rules`, { headers })).json()).toMatchObject({
    rules: expect.arrayContaining([expect.objectContaining({ list: 'deny', rule: 'net' })]),
  })
  await vi.waitFor(() => expect(chat.state.isAttached).toBe(true), { timeout: 20_000 })
  await fetch(`${session}/messages`, { method: 'POST', headers, body: '{"content":"what files are here?"}' })
  await vi.waitFor(() => expect(JSON.stringify([...chat.state.view.rows])).toContain('what files are here?'), {
    timeout: 20_000,
  })
  await vi.waitFor(async () => expect(await (await fetch(session, { headers })).json()).not.toHaveProperty('isHeld'), {
    timeout: 20_000,
  })
  const attached = () => vi.waitFor(() => expect(chat.state.isAttached).toBe(true), { timeout: 20_000 })
  await vi.waitFor(() => expect(chat.state.phase).toBe('idle'), { timeout: 20_000 })
  await chat.send({ text: 'and from here?' })
  await vi.waitFor(() => expect(JSON.stringify([...chat.state.view.rows])).toContain('Typed.'), { timeout: 20_000 })
  await attached()
  // What is chosen in the terminal later counts for the page too, however long it has been open.
  await chat.set({ model, mode: 'ask' })
  const settingsOf = async (name: string) => {
    await fetch(`${address}/v1/sessions`, { method: 'POST', headers, body: JSON.stringify({ id: name }) })
    return await (await fetch(`${address}/v1/sessions/${name}/settings`, { headers })).json()
  }
  expect(await settingsOf('first')).toMatchObject({ now: { mode: 'ask', profile: 'basic' } })
  await attached()
  await chat.set({ model, profile: 'plan', mode: 'plan' })
  expect(await settingsOf('second')).toMatchObject({ now: { mode: 'plan', profile: 'plan' } })
  expect(await (await fetch(`${address}/v1/rules`, { headers })).json()).toMatchObject({ mode: 'plan' })
  await attached()
  await chat.close()
  await web.close()
  await expect(fetch(session, { headers })).rejects.toThrow()
  await store.close?.()
})

test('UI43 /why asks the audit about calls of an earlier process', async () => {
  const io = ioHere()
  const audit = createFileAudit({ path: auditFolder(io) })
  const steps = [[call('c1', 'write_file', { path: 'a.txt', content: 'x' })], 'no']
  const { type, say, chat, screen } = await scene({ steps, authority: { deny: ['fs.write:a.txt'], audit } })
  await say('write')
  await chat.open({ resume: chat.state.sessionId! })
  await type('/why 1')
  expect(screen.printed[0]).toMatch(/refused: .*\ndecided by: the deny rule fs.write:a.txt/)
})

test('UI49 /help names the files that cannot be used', async () => {
  write(join(home, 'commands/broken.md'), '---\nmode: yolo\n---\nGo.')
  const { commands, problems } = await loadCommands(ioHere(), project)
  const { type, screen } = await scene({ commands })
  await type('/help')
  expect(problems).toEqual([expect.stringContaining('broken.md is left out: its mode must be one of')])
  expect(screen.viewed[0]?.text).toContain(problems[0])
})

test('UI54 each skill is a command', async () => {
  write(join(home, '.agents/skills/tidy/SKILL.md'), '---\nname: tidy\ndescription: Tidies up\n---\nFold everything.')
  const { commands } = await loadCommands(ioHere(), project)
  const skills = { home, liberoHome: home, cwd: project }
  const { type, screen, provider } = await scene({ commands, skills, steps: ['ok', 'ok'] })
  expect(commands.find(({ name }) => name === 'skill:tidy')?.summary).toBe('Tidies up (skill)')
  await type('/skill:tidy the desk')
  expect(provider.requests[0]?.system).toContain('Fold everything.')
  expect(JSON.stringify(provider.requests[0]?.messages)).toContain('"the desk"')
  await type('/skill:tidy')
  expect(screen.printed).toEqual(['The skill tidy is active from your next message on'])
})
