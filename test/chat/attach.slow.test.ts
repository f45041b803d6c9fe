import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { Chat } from '../../src/chat/chat.ts'
import { createChat } from '../../src/chat/create-chat.ts'
import { createAgent, createSqliteStore, loadSession } from '../../src/index.ts'
import { joinLocalRuns } from '../../src/rpc/join-local-runs.ts'
import { scripted } from '../../src/testing/index.ts'
import { startInTerminal } from '../cli/pseudo-terminal.ts'
import { temporary } from '../temporary.ts'

test('UI26 a chat joins a session of another process: it sees what is streamed, steers it, stops it, and goes on itself', async () => {
  const { chat, child } = await joinChild()
  expect(chat.state).toMatchObject({ phase: 'running', isAttached: true, sessionId: 'shared' })
  child.send('go on')
  await until(chat, () => textOf(chat).includes('I begin with a long'))
  await chat.send({ text: 'also there' })
  await until(chat, () => chat.state.view.queue.length === 1)
  child.send('go on')
  await until(chat, () => textOf(chat).includes('I read: user: also there'))
  await expect(chat.set({ thinking: 'high' })).rejects.toThrow('another process')
  const exit = once(child, 'exit')
  chat.stop()
  expect(chat.state.phase).toBe('stopping')
  await until(chat, () => chat.state.phase === 'idle')
  await exit
  await chat.send({ text: 'and here?' })
  await until(chat, () => chat.state.phase === 'idle' && textOf(chat).includes('Here too.'))
  expect(chat.state.isAttached).toBeUndefined()
  expect((await chat.readAll()).rows.length).toBe(chat.state.view.rows.length)
})

test('UI26 a message that is typed while the chat attaches to an idle session is sent, and a setting opens it here', async () => {
  const { chat, child } = await joinChild()
  const exit = once(child, 'exit')
  chat.stop()
  await until(chat, () => chat.state.phase === 'idle')
  await exit
  const attaching = chat.open({ attach: 'shared' })
  await until(chat, () => chat.state.phase === 'opening')
  await chat.send({ text: 'typed early' })
  await attaching
  await until(chat, () => chat.state.phase === 'idle' && textOf(chat).includes('Here too.'))
  expect(chat.state.queue).toEqual([])
  await chat.open({ attach: 'shared' })
  await chat.set({ thinking: 'high' })
  expect(chat.state).toMatchObject({ phase: 'idle', settings: { thinking: 'high' } })
})

test('when the other process dies, the chat says so and can continue the session', async () => {
  const { chat, child } = await joinChild()
  child.send('go on')
  await until(chat, () => textOf(chat).includes('I begin with a long'))
  child.kill('SIGKILL')
  await until(chat, () => chat.state.phase === 'idle')
  expect(chat.state.isResumable).toBe(true)
  expect(chat.state.notices.at(-1)?.text).toContain('has ended')
  await chat.resume()
  await until(chat, () => chat.state.phase === 'idle' && textOf(chat).includes('Here too.'))
})

test('UI26 UI32 libero attach shows a session of another process, and what is typed steers it', async () => {
  const home = await temporary('attach-home-')
  const child = await startChild(join(home, 'sessions.db'), join(home, 'run'))
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const argv = [`${root}node_modules/.bin/node`, '--conditions=libero-source', `${root}src/cli/main.ts`] as const
  const terminal = startInTerminal([...argv, 'attach', 'shar'], { cwd: home, env: { LIBERO_HOME: home } })
  await terminal.see('Look.')
  await terminal.until(/\n attached · script-1 · \/srv\/shop$/) // the mode is known to the other process alone
  child.send('go on')
  await terminal.see('I begin with a long and careful look.')
  terminal.type('also there\r')
  await terminal.see('1 message on the way')
  child.send('go on')
  await terminal.see('I read: user: also there')
  const exit = once(child, 'exit')
  terminal.type('\x1b')
  await exit
  await terminal.see('Stopped')
  terminal.type('help\r') // the session goes on here, with the model of this process
  await terminal.until(/› help\n[\s\S]*\n ask · [^\n]*offline/)
})

async function startChild(path: string, offers: string): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('attached-child.ts', import.meta.url)), [path, offers], {
    execArgv: ['--conditions=libero-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

async function joinChild(): Promise<{ chat: Chat; child: ChildProcess }> {
  const folder = await temporary('attach-')
  const [path, offers] = [join(folder, 'sessions.db'), join(folder, 'run')]
  const child = await startChild(path, offers)
  const store = createSqliteStore({ path })
  const chat = createChat({
    store,
    joinRuns: joinLocalRuns({ folder: offers }),
    async openAgent({ resume }) {
      const session = await loadSession(store, resume!)
      const agent = createAgent({ provider: scripted('Here too.'), session })
      return { agent, settings: { model: { provider: 'scripted', model: 'script-1' } }, close: () => agent.destroy() }
    },
  })
  onTestFinished(async () => {
    await chat.close()
    await store.close?.()
  })
  await chat.open({ attach: 'shared' })
  return { chat, child }
}

const textOf = ({ state }: Chat): string =>
  state.view.rows.map((row) => (row.kind === 'answer' ? row.text : '')).join('\n')

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
