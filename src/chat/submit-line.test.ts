import { setTimeout as pause } from 'node:timers/promises'
import { createAgent } from 'libero'
import { createAuthority } from 'libero/authority'
import { scripted } from 'libero/testing'
import { expect, test } from 'vitest'
import type { CommandScreen } from './command.ts'
import { chatCommands } from './commands/chat-commands.ts'
import { createChat } from './create-chat.ts'
import { submitLine } from './submit-line.ts'

test('UI36 a command that is typed before the agent is there waits for it', async () => {
  const { promise: ready, resolve: open } = Promise.withResolvers<void>()
  const chat = createChat({
    async openAgent() {
      await ready
      const authority = createAuthority({ mode: 'ask' })
      const agent = createAgent({ provider: scripted(), authority })
      const settings = { model: { provider: 'scripted', model: 'script-1' }, mode: 'ask' as const }
      return { agent, authority, settings, close: () => agent.destroy() }
    },
  })
  const opened = chat.open({})
  const printed: string[] = []
  const screen = { print: (text: string) => void printed.push(text) } as unknown as CommandScreen
  const done = submitLine({ text: '/mode plan' }, { chat, screen, commands: chatCommands })
  await Promise.race([done, pause(100)])
  open()
  await Promise.all([opened, done])
  expect(chat.state.settings.mode).toBe('plan')
  expect(printed).toEqual(['Mode: plan, reads only; every change is refused'])
  await chat.close()
})
