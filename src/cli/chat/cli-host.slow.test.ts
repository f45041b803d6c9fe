import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { fakeIo } from '../../../test/cli/fake-io.ts'
import type { Chat } from '../../chat/chat.ts'
import { createChat } from '../../chat/create-chat.ts'
import type { RunValues } from '../commands/run.ts'
import { createCliHost, fileDrafts } from './cli-host.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'libero-cli-host-')))
afterAll(() => rmSync(base, { recursive: true }))

let homes = 0
async function openChat(values: RunValues, home = join(base, `home${++homes}`)) {
  const cwd = mkdtempSync(join(base, 'project-'))
  writeFileSync(join(cwd, 'notes.txt'), 'water\n')
  const fetch = (async () => Promise.reject(new Error('no network'))) as typeof globalThis.fetch
  const host = await createCliHost(values, { io: fakeIo({ home, cwd, fetch }), cwd })
  const chat = createChat(host)
  await chat.open(host.first)
  return {
    chat,
    host,
    home,
    cwd,
    async close() {
      await chat.close()
      await host.close()
    },
  }
}

const idle = (chat: Chat): Promise<void> => until(chat, () => chat.state.phase === 'idle')

function until(chat: Chat, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = chat.subscribe(() => check())
    const check = (): void => {
      if (!isSo()) return
      stop()
      resolve()
    }
    check()
  })
}

test('UI25 without a model the chat tries things out offline, and says so', async () => {
  const { chat, cwd, close } = await openChat({})
  expect(chat.state.warning).toMatch(/^no model yet: trying things out with `offline`, a set of rules/)
  expect(chat.state.settings).toMatchObject({
    model: { provider: 'offline' },
    profile: 'build',
    mode: 'ask',
    folder: cwd,
  })
  await chat.send({ text: 'list the files' })
  await idle(chat)
  expect(JSON.stringify(chat.state.view.rows.map((row) => row))).toContain('notes.txt')
  await close()
})

test('profiles, new sessions, copies and resumed sessions share one store', async () => {
  const { chat, home, close } = await openChat({ provider: 'offline' })
  expect(chat.state.warning ?? '').not.toContain('no model')
  await chat.send({ text: 'list the files' })
  await idle(chat)
  const id = chat.state.sessionId!
  await chat.set({ profile: 'plan' })
  expect(chat.state.settings).toMatchObject({ profile: 'plan', mode: 'plan' })
  expect(chat.state.sessionId).toBe(id)
  const rows = chat.state.view.rows.length
  await chat.open({ fork: { id } })
  expect(chat.state.sessionId).not.toBe(id)
  expect(chat.state.view.rows.length).toBeGreaterThanOrEqual(rows)
  await chat.open({})
  expect(chat.state.view.rows.length).toBe(0)
  expect((await chat.sessions({ parent: null })).sessions.map((one) => one.id)).toContain(id)
  expect((await chat.models()).map(({ provider }) => provider)).toContain('offline')
  await close()
  const again = await openChat({ provider: 'offline', resume: id.slice(0, -2) }, home)
  expect(again.chat.state.sessionId).toBe(id)
  expect(again.chat.state.view.rows.length).toBe(rows)
  await again.close()
})

test('queued messages are kept in files, whatever the id of the session', async () => {
  const drafts = fileDrafts(join(base, 'drafts'))
  expect(await drafts.load('../x')).toEqual([])
  await drafts.save('../x', [{ id: '1', text: 'later' }])
  expect(await drafts.load('../x')).toEqual([{ id: '1', text: 'later' }])
  await drafts.save('../x', [])
  expect(await drafts.load('../x')).toEqual([])
})

test('the model of a chat can ask the person', async () => {
  const { chat, close } = await openChat({ provider: 'offline' })
  const sent = chat.send({ text: 'ask me: tea or coffee?' })
  await until(chat, () => chat.state.prompts.length > 0)
  expect(JSON.stringify(chat.state.prompts)).toMatch(/tea or coffee/)
  chat.stop()
  await sent
  await idle(chat)
  await close()
})
