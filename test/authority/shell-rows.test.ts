import { describe, expect, test } from 'vitest'
import { createAgent } from '../../src/create-agent.ts'
import { childEnv } from '../../src/execution/commands/child-env.ts'
import { commandShell } from '../../src/execution/commands/command-shell.ts'
import { call, memoryExecution, scripted } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/shell.ts'

describe('what a line is run by', () => {
  test('SH-55 a line with a NUL is an error, and no part of it runs', async () => {
    const ran: string[] = []
    const execution = {
      ...memoryExecution({ exec: () => ({}) }),
      async exec(_: unknown, command: string) {
        ran.push(command)
        return { stdout: '', stderr: '', exitCode: 0 }
      },
    }
    const provider = scripted([call('1', 'shell', { command: 'ls\0; touch canary' })], 'fin')
    const agent = createAgent({ provider, execution, tools: { shell } })
    const results: unknown[] = []
    agent.hooks.hook('tool:after', ({ result, isError }) => void results.push([isError, result]))
    try {
      await agent.run({ prompt: 'go' })
    } finally {
      await agent.destroy()
    }
    expect(ran).toEqual([])
    expect(results).toEqual([[true, expect.stringContaining('NUL')]])
  })

  test('SH-56 the shell is a fixed one without start-up files, whatever the user has', () => {
    const { file, args } = commandShell()('echo =ls')
    const [flag, script, inner, command] = args
    expect([file, flag, command]).toEqual(['/bin/sh', '-c', 'echo =ls'])
    expect(inner).toMatch(/^(\/usr)?\/bin\/(bash|sh)$/)
    expect(script).toMatch(/exec "\$0" (--norc )?-c -- "\$1"$/)
    const env = childEnv({ host: { PATH: '/bin', SHELL: '/bin/zsh', BASH_ENV: './p', ENV: './p', ZDOTDIR: '.' } })
    expect(Object.keys(env).filter((name) => /^(BASH_ENV|ENV|ZDOTDIR)$/.test(name))).toEqual([])
  })

  test('SH-59 pagers and editors are off, whatever the user has', () => {
    const env = childEnv({ host: { PATH: '/bin', PAGER: 'less', GIT_PAGER: 'less', EDITOR: 'vi', VISUAL: 'vi' } })
    expect(env).toMatchObject({ PAGER: 'cat', GIT_PAGER: 'cat', MANPAGER: 'cat', EDITOR: 'false', VISUAL: 'false' })
  })
})
