import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { textFrom } from './runner.ts'

test('what a sandbox told is kept if the socket breaks, and the process goes on', async () => {
  const socket = new Socket()
  const told = textFrom(socket)
  socket.emit('data', 'sleep 60\n')
  socket.destroy(new Error('broken'))
  expect(await told.text()).toBe('sleep 60\n')
})
