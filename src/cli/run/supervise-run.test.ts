import { describe, expect, test } from 'vitest'
import { fakeIo } from '../../../test/cli/fake-io.ts'
import { createAgent } from '../../create-agent.ts'
import { call, scripted, tool } from '../../testing/index.ts'
import { superviseRuns } from './supervise-run.ts'

function supervised(...script: Parameters<typeof scripted>) {
  const io = fakeIo()
  const said: string[] = []
  const started = Promise.withResolvers<void>()
  const hangs = tool('hang', (_, { signal }) => {
    started.resolve()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
  })
  const agent = createAgent({ provider: scripted(...script), tools: { hangs } })
  const supervisor = superviseRuns(
    io,
    () => agent.abort(),
    (text) => said.push(text),
  )
  return { io, said, agent, supervisor, started: started.promise }
}

const hang = [call('1', 'hang')]

describe('a supervised run', () => {
  test('ends with 0 when it completes', async () => {
    const { agent, supervisor } = supervised('Done.')
    expect(await supervisor.resultOf(agent.run({ prompt: 'x' }))).toMatchObject({
      exitCode: 0,
      stats: { text: 'Done.' },
    })
    supervisor.close()
  })

  test('ends with 4 when its turns are used up', async () => {
    const { agent, supervisor } = supervised([call('1', 'none')])
    const run = agent.run({ prompt: 'x', behavior: { maxTurns: 1 } })
    expect(await supervisor.resultOf(run)).toMatchObject({ exitCode: 4 })
    supervisor.close()
  })

  test('FD-04 the first SIGINT stops it, a second one ends the process', async () => {
    const { io, said, agent, supervisor, started } = supervised(hang)
    const over = supervisor.resultOf(agent.run({ prompt: 'x' }))
    await started
    io.signal('SIGINT')
    expect(said).toEqual([expect.stringContaining('Ctrl-C again quits')])
    io.signal('SIGINT')
    expect(io.quits).toEqual([130])
    const { exitCode, error, stats } = await over
    expect({ exitCode, error, status: stats?.status }).toEqual({ exitCode: 130, error: undefined, status: 'aborted' })
    supervisor.close()
  })

  test('before the first run a signal ends the process at once', () => {
    const { io, supervisor } = supervised('x')
    io.signal('SIGTERM')
    expect(io.quits).toEqual([143])
    supervisor.close()
  })

  test('the next run of a conversation can be stopped again', async () => {
    const { io, agent, supervisor, started } = supervised(hang, 'fine')
    const over = supervisor.resultOf(agent.run({ prompt: 'x' }))
    await started
    io.signal('SIGINT')
    expect(await over).toMatchObject({ exitCode: 130 })
    expect(supervisor.exitCode).toBeUndefined()
    expect(await supervisor.resultOf(agent.run({ prompt: 'y' }))).toMatchObject({ exitCode: 0 })
    expect(io.quits).toEqual([])
    supervisor.close()
  })

  test('FD-32 an uncaught error stops it and becomes its result', async () => {
    const { io, agent, supervisor, started } = supervised(hang)
    const over = supervisor.resultOf(agent.run({ prompt: 'x' }))
    await started
    const crash = new Error('from a timer of an extension')
    io.crash(crash)
    expect(await over).toMatchObject({ exitCode: 1, error: crash })
    expect(agent.log.transcript.runs.at(-1)?.status).toBe('aborted')
    supervisor.close()
  })

  test('FD-32 without a run, an uncaught error is printed and ends the process at once', () => {
    const { io, supervisor } = supervised('x')
    io.crash(new Error('from a timer\x1b[2J'))
    expect([io.said.err, io.quits]).toEqual(['libero: from a timer␛[2J\n', [1]])
    supervisor.close()
  })

  test('its own failure is its result', async () => {
    const { agent, supervisor } = supervised(new Error('the model is out'))
    const { exitCode, error } = await supervisor.resultOf(agent.run({ prompt: 'x' }))
    expect(exitCode).toBe(1)
    expect((error as Error).message).toContain('the model is out')
    supervisor.close()
  })
})
