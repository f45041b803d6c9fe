import { expect, test } from 'vitest'
import { createRemoteAgent, RemoteProblem } from '../../src/client/index.ts'
import { createMemoryStore } from '../../src/index.ts'
import { call, type Step, scripted, tool } from '../../src/testing/index.ts'
import { listen, remote } from './http-kit.ts'
import { startServer } from './server-kit.ts'

test('SV44 a run makes the session, and gives text, status and usage; the next one goes on in it', async () => {
  const { agent, store } = await remoteAgent({ text: 'Noon.', usage: { input: 10, output: 2 } }, 'Still noon.')
  const ran = await agent.run({ prompt: 'What time is it?' })
  expect(ran).toMatchObject({
    status: 'completed',
    stop: 'end',
    text: 'Noon.',
    usage: { calls: 1, input: 10, output: 2 },
  })
  expect(ran.head).toBe((await store.find(agent.session))!.head)
  const again = await agent.run({ prompt: [{ type: 'text', text: 'And now?' }] })
  expect([again.text, again.usage.calls]).toEqual(['Still noon.', 1])
})

test('SV44 a call that waits suspends the run; after the answer a run without a prompt gives its end', async () => {
  const { agent } = await remoteAgent([call('c1', 'publish')], 'Published.')
  expect(await agent.run({ prompt: 'Publish.' })).toMatchObject({ status: 'suspended' })
  const [waiting] = await agent.pending()
  expect(waiting).toMatchObject({ name: 'publish', session: agent.session })
  await agent.answer(waiting!, { decision: 'allow' })
  expect(await agent.run()).toMatchObject({ status: 'completed', text: 'Published.' })
  expect(await agent.pending()).toEqual([])
  await expect(agent.run()).rejects.toMatchObject({ code: 'nothing_to_do' })
  await expect(agent.answer(waiting!, { decision: 'deny' })).rejects.toBeInstanceOf(RemoteProblem)
})

test('SV44 steering and follow-ups reach the run under way, and abort stops it', async () => {
  const asked = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const { agent, requests } = await remoteAgent(
    async () => {
      asked.resolve()
      await go.promise
      return [call('c1', 'look')]
    },
    'Steered.',
    'Followed up.',
  )
  const running = agent.run({ prompt: 'Go.' })
  await asked.promise
  await agent.steer('Left!')
  await agent.followUp('Then right.')
  go.resolve()
  expect(await running).toMatchObject({ status: 'completed', text: 'Followed up.' })
  expect(requests().map((texts) => texts.at(-1))).toEqual(['Go.', 'Left!', 'Then right.'])

  const { agent: other } = await remoteAgent(() => new Promise(() => {}))
  await other.client.sessions.make({ id: other.session })
  const never = other.run({ prompt: 'Go.' })
  for await (const event of other.events()) if (event.durable && event.entry.type === 'attempt') break
  await other.abort()
  expect(await never).toMatchObject({ status: 'aborted', text: '' })
})

test('SV44 a run that its server left is waited for until another server has ended it', async () => {
  const store = createMemoryStore()
  const first = await startServer({ store, provider: () => scripted(() => new Promise(() => {})) })
  let current = first.server
  const { url } = await listen((request) => current.fetch(request))
  const agent = createRemoteAgent({ ...remote(url), session: 's' })
  await agent.client.sessions.make({ id: 's' })
  const running = agent.run({ prompt: 'Go.' })
  for await (const event of agent.events()) if (event.durable && event.entry.type === 'attempt') break
  await first.server.close()
  current = (await startServer({ store, provider: () => scripted('Done by the next one.') })).server
  await current.start()
  expect(await running).toMatchObject({ status: 'completed', text: 'Done by the next one.' })
  const ends = (await store.read('s')).flatMap((entry) => (entry.type === 'run_ended' ? [entry.status] : []))
  expect(ends).toEqual(['left', 'completed'])
})

test('SV44 a signal ends the waiting for a run and leaves the run alone', async () => {
  const go = Promise.withResolvers<Step>()
  const { agent } = await remoteAgent(() => go.promise)
  await agent.client.sessions.make({ id: agent.session })
  const stop = new AbortController()
  const running = agent.run({ prompt: 'Go.', signal: stop.signal })
  for await (const event of agent.events()) if (event.durable && event.entry.type === 'attempt') break
  stop.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
  go.resolve('Done all the same.')
  const ends = agent.events({ types: ['run_ended'], deltas: false })
  expect((await ends.next()).value).toMatchObject({ entry: { status: 'completed' } })
  await ends.return()
})

/** An agent at a server on a port, whose model plays this script. */
async function remoteAgent(...script: Step[]) {
  const provider = scripted(...script)
  const tools = { publish: tool('publish', () => 'done'), look: { ...tool('look', () => 'seen'), gated: false } }
  const { server, store } = await startServer({ provider: () => provider, tools })
  const { url } = await listen(server.fetch)
  const texts = (message: (typeof provider.requests)[number]['messages'][number]): string[] =>
    message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  const requests = (): string[][] => provider.requests.map(({ messages }) => messages.flatMap(texts))
  return { agent: createRemoteAgent(remote(url)), store, requests }
}
