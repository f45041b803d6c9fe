import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createProcessContext } from '../execution/process.ts'
import { programPath } from './program-path.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-path-')))
afterAll(() => rmSync(folder, { recursive: true }))
const [project, elsewhere] = [join(folder, 'project'), join(folder, 'bin')]
mkdirSync(join(project, 'node_modules/.bin'), { recursive: true })
for (const name of ['HEAD', 'objects', 'refs', 'config']) mkdirSync(join(project, '.git', name), { recursive: true })
mkdirSync(join(project, 'packages/app'), { recursive: true })
mkdirSync(elsewhere)
symlinkSync(join(project, 'node_modules/.bin'), join(folder, 'link'))
symlinkSync(project, join(folder, 'alias'))

describe('S03 the folders in which programs are found', () => {
  test('are none of the project, however spelled, and none that is relative or empty', () => {
    const planted = ['', '.', 'node_modules/.bin', `${project}/node_modules/.bin`, `${project}/../project/x`, project]
    const linked = [`${folder}/link`, `${folder}/alias/node_modules/.bin`]
    const path = [...planted, elsewhere, ...linked, '/usr/bin', elsewhere].join(':')
    expect(programPath(path, [project])).toEqual([elsewhere, '/usr/bin'])
    expect(programPath(path, [`${folder}/alias`])).toEqual([elsewhere, '/usr/bin'])
  })

  test('are those of the system where nothing is left, as an empty PATH means the current folder', () => {
    for (const path of ['', '.', project]) expect(programPath(path, [project])).toEqual(['/usr/bin', '/bin'])
  })

  test('are those of a folder whose name only begins like that of the project', () => {
    expect(programPath(`${project}-tools:/usr/bin`, [project])).toEqual([`${project}-tools`, '/usr/bin'])
  })

  test('are those of the person where the project is the home folder or holds it', () => {
    for (const one of [homedir(), '/']) expect(programPath('/usr/bin:/opt/x', [one])).toEqual(['/usr/bin', '/opt/x'])
  })

  test.each(['', 'packages/app'])(
    'of a command outside any sandbox are none of its project, in its folder %j',
    async (at) => {
      for (const name of ['ls', 'own-tool']) {
        writeFileSync(join(project, 'node_modules/.bin', name), '#!/bin/sh\necho planted\n')
        chmodSync(join(project, 'node_modules/.bin', name), 0o755)
      }
      const before = process.env.PATH
      process.env.PATH = `${project}/node_modules/.bin:${before}`
      const execution = createProcessContext({ cwd: join(project, at) })
      const handle = await execution.spawn()
      try {
        const { stdout } = await execution.exec(handle, 'ls -d /; own-tool')
        expect(stdout).toBe('/\n')
        const env = { PATH: process.env.PATH }
        expect((await execution.exec(handle, 'own-tool', { env })).stdout).toBe('planted\n')
      } finally {
        process.env.PATH = before
        await execution.destroy(handle)
      }
    },
  )
})
