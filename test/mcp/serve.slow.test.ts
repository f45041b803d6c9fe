import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import type { AuthorityOptions } from '../../src/authority/authority.ts'
import type { ModelRequest, Provider } from '../../src/core/provider.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import type { MakeAgent } from '../../src/mcp/serve/served-agents.ts'
import { codingTools } from '../../src/presets/coding.ts'
import type { AgentOptions } from '../../src/presets/preset.ts'
import { call, scripted, tool } from '../../src/testing/scripted.ts'
import { testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'
import { connectHttp, eras, serveHttp, textsOf, until } from './serve-kit.ts'

const test = testInTurns(2)

/** An agent in a folder with the coding tools; its model is only used if it is given. */
function maker(cwd: string, more: Partial<AgentOptions> = {}, authority: AuthorityOptions = {}): MakeAgent {
  return ({ interactors }) =>
    createAgent({
      provider: scripted(),
      tools: codingTools,
      execution: createProcessContext({ cwd }),
      authority: { mode: 'ask', interactors, ...authority },
      ...more,
    })
}

const request = { interactors: [] }

describe.for(eras)('over HTTP, era %s', (era) => {
  test('a client is offered the tools that a model would get, and the agent', async () => {
    const cwd = await temporary('mcp-serve-')
    const asked: ModelRequest[] = []
    const provider = scripted((request) => {
      asked.push(request)
      return 'Done.'
    })
    const agent = await maker(cwd, { provider })(request)
    if ('agent' in agent) throw new Error('an agent was expected')
    await agent.run({ prompt: 'Go.' })
    await agent.destroy()
    const client = await connectHttp(await serveHttp({ agent: maker(cwd) }), { era })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['run_agent', ...asked[0]!.tools.map(({ name }) => name)])
    expect(tools.slice(1).map(({ inputSchema, description }) => ({ inputSchema, description }))).toEqual(
      asked[0]!.tools.map(({ inputSchema, description }) => ({ inputSchema, description })),
    )
  })

  test('a call returns the result of the tool, every time, without any model', async () => {
    const cwd = await temporary('mcp-serve-')
    writeFileSync(join(cwd, 'note.txt'), 'forty-two\n')
    const client = await connectHttp(await serveHttp({ agent: maker(cwd) }), { era })
    for (let i = 0; i < 3; i++) {
      const read = await client.callTool({ name: 'read_file', arguments: { path: 'note.txt' } })
      expect(read.isError).toBeUndefined()
      expect(textsOf(read).join()).toContain('forty-two')
    }
    const missing = await client.callTool({ name: 'read_file', arguments: { path: 'none.txt' } })
    expect(missing.isError).toBe(true)
    await expect(client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toThrow('Unknown tool: no_such_tool')
  })

  test('a call that a rule denies is refused', async () => {
    const cwd = await temporary('mcp-serve-')
    const agent = maker(cwd, {}, { deny: ['write_file'] })
    const client = await connectHttp(await serveHttp({ agent }), { era, answers: () => accept('once') })
    const written = await client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } })
    expect(written.isError).toBe(true)
    expect(textsOf(written).join()).toMatch(/denied|not allowed|refused|deny/i)
    expect(existsSync(join(cwd, 'a.txt'))).toBe(false)
  })

  test('the client’s user approves a call, sees all of it, and may decline the next', async () => {
    const cwd = await temporary('mcp-serve-')
    const asked: string[] = []
    const answers = (message: string) => {
      asked.push(message)
      return accept(asked.length === 1 ? 'once' : 'no')
    }
    const client = await connectHttp(await serveHttp({ agent: maker(cwd) }), { era, answers })
    const first = await client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'first' } })
    expect([first.isError, readFileSync(join(cwd, 'a.txt'), 'utf8')]).toEqual([undefined, 'first'])
    const second = await client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'second' } })
    expect([second.isError, readFileSync(join(cwd, 'a.txt'), 'utf8')]).toEqual([true, 'first'])
    expect(textsOf(second).join()).toContain('denied by')
    expect(asked).toHaveLength(2)
    expect(asked[0]).toContain('Allow write_file?')
    expect(asked[0]).toContain('first')
  })

  test.for([{ action: 'decline' }, { action: 'cancel' }, accept('yes'), accept('')] as const)(
    'an answer that is not clearly a yes counts as no: %j',
    async (answer) => {
      const cwd = await temporary('mcp-serve-')
      const client = await connectHttp(await serveHttp({ agent: maker(cwd) }), { era, answers: () => answer })
      const written = await client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } })
      expect([written.isError, existsSync(join(cwd, 'a.txt'))]).toEqual([true, false])
    },
  )

  test('a client that cannot ask its user is told which permission is missing, and can continue', async () => {
    const cwd = await temporary('mcp-serve-')
    writeFileSync(join(cwd, 'note.txt'), 'forty-two\n')
    const client = await connectHttp(await serveHttp({ agent: maker(cwd) }), { era })
    const written = await client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } })
    expect([written.isError, existsSync(join(cwd, 'a.txt'))]).toEqual([true, false])
    expect(textsOf(written).join()).toMatch(/Not run: it needs a permission.*elicitation/)
    expect(textsOf(written).join()).toContain('Allow write_file?')
    const read = await client.callTool({ name: 'read_file', arguments: { path: 'note.txt' } })
    expect(textsOf(read).join()).toContain('forty-two')
  })

  test('run_agent answers, reports progress, and asks the client’s user', async () => {
    const cwd = await temporary('mcp-serve-')
    const steps = [[call('1', 'write_file', { path: 'a.txt', content: 'made' })], 'It is written.']
    const agent = maker(cwd, { provider: scripted(...steps) })
    const client = await connectHttp(await serveHttp({ agent }), { era, answers: () => accept('once') })
    const heard: (string | undefined)[] = []
    const done = await client.callTool(
      { name: 'run_agent', arguments: { prompt: 'Write a file.' } },
      { onprogress: ({ message }) => heard.push(message) },
    )
    expect(textsOf(done)[0]).toBe('It is written.')
    expect(done.structuredContent).toMatchObject({ text: 'It is written.', session: expect.any(String) })
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('made')
    expect(heard).toEqual(expect.arrayContaining(['uses write_file', expect.stringContaining('It is')]))
  })

  test('run_agent with no person to ask says what is missing; a failing model causes an error result', async () => {
    const cwd = await temporary('mcp-serve-')
    const write = [call('1', 'write_file', { path: 'a.txt', content: 'made' })]
    const provider = scripted(write, new Error('the service is down'))
    const client = await connectHttp(await serveHttp({ agent: maker(cwd, { provider }) }), { era })
    const halted = await client.callTool({ name: 'run_agent', arguments: { prompt: 'Write.' } })
    expect([halted.isError, existsSync(join(cwd, 'a.txt'))]).toEqual([true, false])
    expect(textsOf(halted).join()).toContain('needs a permission')
    const failed = await client.callTool({ name: 'run_agent', arguments: { prompt: 'Again.' } })
    expect(failed.isError).toBe(true)
    expect(textsOf(failed).join()).toContain('the service is down')
    const wrong = await client.callTool({ name: 'run_agent', arguments: { prompt: '' } })
    expect(textsOf(wrong).join()).toContain('prompt must be a text')
  })

  test('a session is continued; an unknown one causes an error result', async () => {
    const cwd = await temporary('mcp-serve-')
    const made: Provider[] = []
    const agent: MakeAgent = (request) => {
      const provider = scripted(
        ({ messages }) => `${messages.length}`,
        ({ messages }) => `${messages.length}`,
      )
      made.push(provider)
      return maker(cwd, { provider })(request)
    }
    const served = await serveHttp({ agent, sessions: { most: 1 }, expose: { tools: false } })
    const client = await connectHttp(served, { era })
    const run = async (session?: string) =>
      client.callTool({ name: 'run_agent', arguments: { prompt: 'Count.', ...(session && { session }) } })
    const first = await run()
    const { session } = first.structuredContent as { session: string }
    expect(textsOf(first)[1]).toContain(session)
    const second = await run(session)
    expect([textsOf(first)[0], textsOf(second)[0], made.length]).toEqual(['1', '3', 1])
    await run() // only one is kept
    const gone = await run(session)
    expect([gone.isError, textsOf(gone).join()]).toEqual([true, expect.stringContaining('there is no conversation')])
  })

  test('a client that cannot ask may continue another’s conversation; it is told so, and nothing hangs', async () => {
    const cwd = await temporary('mcp-serve-')
    const write = [call('1', 'write_file', { path: 'a.txt', content: 'x' })]
    const served = await serveHttp({
      agent: (request) => maker(cwd, { provider: scripted(write, 'No.', write, 'Done.') })(request),
    })
    const asking = await connectHttp(served, { era, answers: () => ({ action: 'decline' }) })
    const mute = await connectHttp(served, { era })
    const agent = (client: typeof mute, session?: unknown) =>
      client.callTool({ name: 'run_agent', arguments: { prompt: 'Go.', ...(session !== undefined && { session }) } })

    const { session } = (await agent(asking)).structuredContent as { session: string }
    const refused = await agent(mute, session)
    expect(refused.isError).toBe(true)
    expect(textsOf(refused).join()).toContain('this client cannot ask its user')
    expect(textsOf(await agent(asking, session)).join()).toContain(session)

    const begun = textsOf(await agent(mute)).join()
    const [, other] = /session "([\w-]+)"/.exec(begun) ?? []
    expect(textsOf(await agent(asking, other)).join()).toContain('No.')
    expect(textsOf(await agent(asking, other)).join()).toContain('begun by a client that cannot ask its user')
    expect(existsSync(join(cwd, 'a.txt'))).toBe(false)
  })

  test('concurrent tasks have an agent each; cancelling one stops only that one', async () => {
    const cwd = await temporary('mcp-serve-')
    const states: string[] = []
    const agent: MakeAgent = (request) => {
      const provider = scripted(async ({ messages }, signal) => {
        const text = JSON.stringify(messages)
        if (text.includes('quick')) return 'Quick.'
        states.push('began')
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            states.push('stopped')
            reject(signal.reason)
          }),
        )
        return 'Never.'
      })
      return maker(cwd, { provider })(request)
    }
    const client = await connectHttp(await serveHttp({ agent }), { era })
    const stopping = new AbortController()
    const slow = client
      .callTool({ name: 'run_agent', arguments: { prompt: 'slow' } }, { signal: stopping.signal })
      .catch((error: Error) => error)
    await until(() => states.includes('began'))
    const quick = await client.callTool({ name: 'run_agent', arguments: { prompt: 'quick' } })
    expect([textsOf(quick)[0], states]).toEqual(['Quick.', ['began']])
    stopping.abort(new Error('not wanted any more'))
    expect(await slow).toBeInstanceOf(Error)
    await until(() => states.includes('stopped'))
  })

  test('a cancelled call of a tool stops the tool', async () => {
    const cwd = await temporary('mcp-serve-')
    const states: string[] = []
    const wait = tool('wait', async (_input, { signal }) => {
      states.push('began')
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      states.push('stopped')
      return 'late'
    })
    const agent = maker(cwd, { tools: { wait } }, { mode: 'yolo' })
    const client = await connectHttp(await serveHttp({ agent }), { era })
    const stopping = new AbortController()
    const called = client
      .callTool({ name: 'wait', arguments: {} }, { signal: stopping.signal })
      .catch(() => 'cancelled')
    await until(() => states.includes('began'))
    stopping.abort()
    expect(await called).toBe('cancelled')
    await until(() => states.includes('stopped'))
  })

  test('a tool’s progress and images arrive, and an agent with an output schema asks no model for a call', async () => {
    const cwd = await temporary('mcp-serve-')
    const reached: boolean[] = []
    const silent = scripted()
    const provider: Provider = {
      ...silent,
      stream(request, signal) {
        reached.push(!signal.aborted)
        return silent.stream(request, signal)
      },
    }
    const picture = tool('picture', (_input, { progress }) => {
      progress('half way')
      return [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }]
    })
    const behavior = { schema: { type: 'object', properties: { a: { type: 'string' } } } }
    const agent = maker(cwd, { provider, tools: { picture }, behavior }, { mode: 'yolo' })
    const client = await connectHttp(await serveHttp({ agent, expose: { agent: false } }), { era })
    const heard: (string | undefined)[] = []
    const shown = await client.callTool(
      { name: 'picture', arguments: {} },
      { onprogress: ({ message }) => heard.push(message) },
    )
    expect(shown.content).toEqual([{ type: 'image', mimeType: 'image/png', data: 'AAAA' }])
    expect(shown.isError).toBeUndefined()
    expect(heard).toEqual(['half way'])
    expect(reached).not.toContain(true)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['picture'])
    expect(reached).not.toContain(true)
  })
})

describe('state between calls', () => {
  test('calls one after another share a list of tasks and what they read', async () => {
    const cwd = await temporary('mcp-serve-')
    writeFileSync(join(cwd, 'a.txt'), 'old text')
    const agent = maker(cwd, { behavior: { requireReadBeforeEdit: true } }, { mode: 'yolo' })
    const client = await connectHttp(await serveHttp({ agent }), { era: 'auto' })
    const edit = () =>
      client.callTool({ name: 'edit', arguments: { path: 'a.txt', old_string: 'old', new_string: 'new' } })
    expect((await edit()).isError).toBe(true)
    await client.callTool({ name: 'read_file', arguments: { path: 'a.txt' } })
    await client.listTools()
    const edited = await edit()
    expect([textsOf(edited).join(), readFileSync(join(cwd, 'a.txt'), 'utf8')]).toEqual([expect.any(String), 'new text'])
    expect(edited.isError).toBeUndefined()
  })

  test('a tool that starts another agent has the real model for it', async () => {
    const cwd = await temporary('mcp-serve-')
    const provider = scripted('The child is done.')
    const client = await connectHttp(await serveHttp({ agent: maker(cwd, { provider }, { mode: 'yolo' }) }), {
      era: 'auto',
    })
    const spawned = await client.callTool({ name: 'spawn', arguments: { task: 'Do it.' } })
    expect(textsOf(spawned).join()).toContain('The child is done.')
    expect(provider.requests).toHaveLength(1)
  })

  test('a conversation that the host stored is opened by its id', async () => {
    const cwd = await temporary('mcp-serve-')
    const opened: (string | undefined)[] = []
    const agent: MakeAgent = (request) => {
      opened.push(request.sessionId)
      return maker(cwd, { provider: scripted('Hello.') })(request)
    }
    const served = await serveHttp({ agent, sessions: { knows: (id) => id === 'known' }, expose: { tools: false } })
    const client = await connectHttp(served, { era: 'auto' })
    const run = (session: string) => client.callTool({ name: 'run_agent', arguments: { prompt: 'Hi.', session } })
    expect(textsOf(await run('known'))[0]).toBe('Hello.')
    expect((await run('unknown')).isError).toBe(true)
    expect(opened).toEqual(['known'])
  })

  test('the number of concurrent calls is limited', async () => {
    const cwd = await temporary('mcp-serve-')
    const { promise, resolve } = Promise.withResolvers<string>()
    let begun = 0
    const wait = tool('wait', () => {
      begun++
      return promise
    })
    const client = await connectHttp(await serveHttp({ agent: maker(cwd, { tools: { wait } }, { mode: 'yolo' }) }), {
      era: 'auto',
    })
    const calls = Array.from({ length: 33 }, () => client.callTool({ name: 'wait', arguments: {} }))
    const first = await Promise.race(calls)
    expect([first.isError, textsOf(first).join()]).toEqual([true, expect.stringContaining('32 calls are under way')])
    await until(() => begun === 32)
    resolve('done')
    const all = await Promise.all(calls)
    expect(all.filter((one) => textsOf(one).join() === 'done')).toHaveLength(32)
  })
})

describe.for(eras)('a question without an answer, era %s', (era) => {
  test('a client that fails to ask counts as no', { timeout: 30_000 }, async () => {
    const cwd = await temporary('mcp-serve-')
    const client = await connectHttp(await serveHttp({ agent: maker(cwd, {}, { approvalTimeoutMs: 1000 }) }), {
      era,
      answers: () => {
        throw new Error('the window would not open')
      },
    })
    const written = client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } })
    const outcome = await written.then(
      ({ isError }) => isError,
      () => true,
    )
    expect([outcome, existsSync(join(cwd, 'a.txt'))]).toEqual([true, false])
  })

  test('a late answer does not count', async () => {
    const cwd = await temporary('mcp-serve-')
    const late = Promise.withResolvers<void>()
    const timedOut = maker(cwd, { hooks: { 'tool:decision': () => late.resolve() } }, { approvalTimeoutMs: 50 })
    const client = await connectHttp(await serveHttp({ agent: timedOut }), {
      era,
      async answers() {
        await late.promise
        return accept('once')
      },
    })
    const written = await client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } })
    expect([written.isError, existsSync(join(cwd, 'a.txt'))]).toEqual([true, false])
    expect(textsOf(written).join()).toContain('no answer came in time')
  })

  test('closing the server during a question stops the run', async () => {
    const cwd = await temporary('mcp-serve-')
    const asked = Promise.withResolvers<void>()
    const statuses: string[] = []
    const agent = maker(cwd, { hooks: { 'agent:done': ({ status }) => void statuses.push(status) } })
    const served = await serveHttp({ agent, expose: { agent: false } })
    const client = await connectHttp(served, {
      era,
      answers: () => {
        asked.resolve()
        return new Promise(() => {})
      },
    })
    const written = client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } })
    written.catch(() => {})
    await asked.promise
    expect(statuses).toEqual(['aborted']) // the run that only listed the tools
    await served.agentServer.close()
    expect(statuses).toEqual(['aborted', 'aborted'])
    expect(existsSync(join(cwd, 'a.txt'))).toBe(false)
  })
})

function accept(answer: string): { action: 'accept'; content: Record<string, string> } {
  return { action: 'accept', content: { answer } }
}
