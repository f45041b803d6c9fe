import { expect, test, vi } from 'vitest'
import { RemoteProblem } from '../libero.ts'
import { runLine } from './run-line.ts'

test('WB72 a line with a slash is run; one that begins with a path or a blank is a message', async () => {
  const runCommand = vi.fn(async (_: string, line: string) => ({ text: `ran ${line}` }))
  const client = { sessions: { runCommand } }
  expect(await runLine(client, 's', '/review src/a.ts')).toBe('ran /review src/a.ts')
  for (const message of ['/etc/hosts is wrong', '/home/me/app: fix it', ' /tmp is full', 'a /review', '/'])
    expect(await runLine(client, 's', message)).toBeUndefined()
  expect(runCommand).toHaveBeenCalledOnce()
})

test('WB72 a command that is not there is told, with how to send the line; a server without commands gets a message', async () => {
  const failing = (status: number, code: string) => ({
    sessions: {
      runCommand: () => Promise.reject(new RemoteProblem({ status, code, detail: 'There is no command /tmp' })),
    },
  })
  await expect(runLine(failing(422, 'no_command'), 's', '/tmp is full')).rejects.toThrow(
    'There is no command /tmp. To send the line as a message, put a blank before it.',
  )
  await expect(runLine(failing(409, 'parked'), 's', '/review')).rejects.toBeInstanceOf(RemoteProblem)
  expect(await runLine(failing(501, 'not_offered'), 's', '/review')).toBeUndefined()
})

test('WB72 a command of which the answer was lost is run again under its key; another line or a further run has its own', async () => {
  const keys: (string | undefined)[] = []
  let isLost = true
  const runCommand = async (_: string, __: string, options?: { readonly key?: string }) => {
    keys.push(options?.key)
    if (isLost) throw new RemoteProblem({ status: 0, code: 'no_connection', detail: 'The connection was lost' })
    return { text: 'done' }
  }
  const client = { sessions: { runCommand } }
  await expect(runLine(client, 's', '/review a')).rejects.toThrow('lost')
  await expect(runLine(client, 's', '/review a')).rejects.toThrow('lost')
  await expect(runLine(client, 's', '/review b')).rejects.toThrow('lost')
  isLost = false
  await runLine(client, 's', '/review b')
  await runLine(client, 's', '/review b')
  expect(keys.map((key) => keys.indexOf(key))).toEqual([0, 0, 2, 2, 4])
})
