import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type FakeIo, fakeIo, runLibero } from '../../../test/cli/fake-io.ts'
import { write } from '../../../test/cli/prompt-commands.ts'
import type { Grant } from '../../authority/grants/grant.ts'
import { createGrantFile } from '../../authority/grants/grant-file.ts'
import { realFolder } from '../sessions/session-folder.ts'

let io: FakeIo
beforeEach(async () => {
  io = fakeIo()
  await createGrantFile(join(io.home, 'grants.json')).change(() => [touch(), make(), { ...touch(), project: '/other' }])
})

const touch = (): Grant => ({
  ...{ tool: 'shell', key: 'touch (any)', covers: 'every `touch` in this project', origin: { layer: 'host' } },
  ...{ scope: 'project', project: realFolder(io.cwd), grantedAt: 0, grantedBy: 'ann' },
  within: { profile: 'workspace-write', reads: [], writes: [], hosts: [], home: 'empty' },
})

const make = (): Grant => ({
  ...touch(),
  ...{ key: 'make all', covers: 'exactly `make all` in this project\u202e', within: 'outside' },
  ...{ scope: 'session', sessionId: 's-1', bound: { Makefile: 'abc' }, expiresAt: Date.UTC(2999, 0) },
})

function grants(...words: string[]) {
  io.clear()
  return runLibero(['grants', ...words], io)
}

const ids = (out: string): string[] => [...out.matchAll(/^([0-9a-f]{8}) /gm)].map(([, id]) => id!)

describe('T03 SB07 libero grants', () => {
  test('lists what is kept for this project: what each covers, where it runs, for how long, and by whom', async () => {
    const { out, err } = await grants()
    expect(out.replaceAll(/^[0-9a-f]{8}/gm, 'id').split('\n')).toEqual([
      'id  shell: every `touch` in this project',
      `    always in ${realFolder(io.cwd)}; inside the sandbox workspace-write; approved by ann on 1970-01-01 00:00 UTC`,
      'id  shell: exactly `make all` in this project\\u202e',
      `    in the session s-1, in ${realFolder(io.cwd)}; outside any sandbox, with all your rights; as long as Makefile stay as they are; approved by ann on 1970-01-01 00:00 UTC; until 2999-01-01 00:00 UTC`,
      '',
    ])
    expect(err).toBe('1 in other projects: libero grants --all\n')
  })

  test('lists those of every project, also as JSON', async () => {
    const listed: { id: string }[] = JSON.parse((await grants('--all', '--json')).out)
    expect(listed).toMatchObject([{ key: 'touch (any)' }, { key: 'make all' }, { project: '/other' }])
    expect(listed.map(({ id }) => id)).toEqual(ids((await grants('--all')).out))
  })

  test('revokes one by the beginning of its id, and leaves the others', async () => {
    const [first, second] = ids((await grants()).out)
    expect(await grants('revoke', first!.slice(0, 6))).toMatchObject({
      code: 0,
      out: 'revoked: every `touch` in this project\n',
    })
    expect(ids((await grants()).out)).toEqual([second])
    expect(ids((await grants('--all')).out)).toHaveLength(2)
  })

  test('revokes all, in every project, with what an earlier version left', async () => {
    write(io.home, 'grants.json', JSON.stringify({ version: 2, grants: [touch()], ignored: [{ tool: 'old' }] }))
    expect((await grants()).err).toContain('1 of an earlier version do not count')
    await grants('revoke', '--all')
    expect(await grants('--all')).toMatchObject({ out: '', err: 'No approval is kept.\n' })
  })

  test('says what is wrong with an id that fits none or several, and changes nothing', async () => {
    expect((await grants('revoke', 'xyz')).err).toContain('no approval has the id "xyz"')
    expect((await grants('revoke', '')).err).toContain('3 approvals have an id that begins with ""')
    expect((await grants('revoke')).err).toContain('which approval?')
    expect((await grants('revoke', 'x', '--all')).err).toContain('do not go together')
    expect(ids((await grants('--all')).out)).toHaveLength(3)
  })
})
