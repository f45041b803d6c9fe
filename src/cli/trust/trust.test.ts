import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type FakeIo, fakeIo, runLibero } from '../../../test/cli/fake-io.ts'
import { write } from '../../../test/cli/prompt-commands.ts'

let io: FakeIo
let keys: PassThrough
beforeEach(() => {
  keys = new PassThrough()
  const cwd = join(fakeIo().cwd, 'project')
  io = fakeIo({ cwd, stdin: Object.assign(keys, { isTTY: true }) })
  Object.assign(io.stderr, { isTTY: true })
  write(io.cwd, 'AGENTS.md', 'Be kind.')
})

/** Runs `libero trust` and types `answer` when it asks. */
async function answered(answer: string, meanwhile = () => {}) {
  io.clear()
  const running = runLibero(['trust'], io)
  await vi.waitFor(() => expect(io.said.err).toContain('[y/N]'))
  meanwhile()
  keys.write(`${answer}\n`)
  return running
}

describe('T04 libero trust at a terminal', () => {
  test('asks after it has listed the files, and needs no digest', async () => {
    expect((await answered('y')).out).toMatch(
      /not decided\n- instructions: AGENTS.md\n[\s\S]* is trusted as it is now\n$/,
    )
    io.clear()
    const { out, err } = await runLibero(['trust'], io)
    expect(out).toMatch(/: trusted\n/)
    expect(err).toBe('')
  })

  test('leaves everything as it is without a yes', async () => {
    expect((await answered('')).out).toContain('nothing was changed')
    io.clear()
    expect((await runLibero(['trust', '--list'], io)).out).toBe('')
  })

  test('asks again about files that have changed since', async () => {
    await answered('y')
    write(io.cwd, 'AGENTS.md', 'Be quick.')
    expect((await answered('n')).out).toContain('trusted, but files are new or have changed since')
  })

  test('trusts only what it listed: a file that changes while it asks is not trusted', async () => {
    const { err } = await answered('y', () => write(io.cwd, 'AGENTS.md', 'Be evil.'))
    expect(err).toContain('look at what changed')
    io.clear()
    expect((await runLibero(['trust', '--list'], io)).out).toBe('')
  })
})
