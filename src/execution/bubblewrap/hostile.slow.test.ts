import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import { begun, emptyFolder, isRoot, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { testInTurns } from '../../../test/soak.ts'
import { createProcessContext } from '../process.ts'
import { createPlaceholders } from './placeholders.ts'
import { sandboxPolicy } from './policy.ts'

// Each of them starts sandboxes.
const test = testInTurns(3)

const hasPerl = spawnSync('perl', ['-e', '1']).status === 0
if (!hasPerl) console.warn('NOT TESTED: single system calls, which take perl')
const node = `'${process.execPath}'`

/** Not a folder for temporary files: there a sandbox has its own, and everything could be written. */
const home = fileURLToPath(new URL('../../../node_modules/.libero-hostile-', import.meta.url))
const isInTemp = home.startsWith('/tmp/') || home.startsWith(tmpdir())
const onDisk = isInTemp ? ' (skipped: the project itself lies in a folder for temporary files)' : ''
let base: string
beforeEach(() => {
  base = mkdtempSync(home)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const stop of stopping.splice(0)) stop()
  await rm(base, { recursive: true, force: true })
})
const stopping: (() => void)[] = []

describe.skipIf(unavailable)(`writing outside${skipped}`, () => {
  test.skipIf(isInTemp)(`by a path${onDisk}`, async () => {
    const { cwd, run, sibling } = await besides()
    const tries = [`${sibling}/new`, '../sibling/new', `${cwd}-evil`, '/etc/libero-canary', '/libero-canary', '/usr/x']
    for (const path of [...tries, '"$HOME/libero-canary"', '/var/libero-canary', '/dev/libero-canary', '/run/x'])
      expect(`${path} ${(await run(`echo x > ${path}`)).exitCode}`).toBe(`${path} 1`)
    await run(`echo changed >> ${sibling}/file; rm -f ${sibling}/file; chmod 777 ${sibling}; mv ${sibling} ${sibling}2`)
    expect(readdirSync(base).sort()).toEqual(['sibling', 'w'])
    expect(readFileSync(join(sibling, 'file'), 'utf8')).toBe('untouched')
    expect(existsSync('/etc/libero-canary')).toBe(false)
    expect((await run('echo x > inside && cat inside')).stdout).toBe('x\n')
  })

  test.skipIf(isInTemp)(`by a link${onDisk}`, async () => {
    const { context, handle, run, sibling } = await besides()
    expect((await run(`ln -s ${sibling} out; ln -s ${sibling}/file f; ln -s .. up; ls -d out/. up/.`)).exitCode).toBe(0)
    for (const path of ['out/new', 'f', 'up/sibling/new', 'up/new']) {
      expect(`${path} ${(await run(`echo x > ${path}`)).exitCode}`).toBe(`${path} 1`)
      await expect(context.writeFile(handle, path, 'x')).rejects.toMatchObject({ code: 'EOUTSIDE' })
    }
    expect((await run(`ln ${sibling}/file hard`)).stderr).toMatch(/cross-device|Read-only/)
    expect(readdirSync(sibling)).toEqual(['file'])
    expect(readFileSync(join(sibling, 'file'), 'utf8')).toBe('untouched')
  })

  test('by way of /proc', async () => {
    const { run, sibling } = await besides()
    for (const root of ['/proc/self/root', '/proc/1/root', '/proc/self/cwd/../sibling', '/proc/1/cwd'])
      await run(`echo x > ${root}${sibling}/new; echo x > ${root}/new`)
    await run(`for d in /proc/*/fd/*; do echo x > $d/new; done`)
    expect(readdirSync(sibling)).toEqual(['file'])
  })

  test('by a mount, a namespace or another root', async () => {
    const { cwd, run, sibling } = await besides()
    const tries = [
      'mount -o remount,rw /',
      `mount --bind ${sibling} ${cwd}`,
      `umount ${cwd}`,
      `umount -l ${cwd}/.git`,
      'mount -t tmpfs x /tmp',
      'unshare -Urm true',
      'unshare -m true',
      'chroot / true',
      'nsenter -t 1 -m true',
      'mknod dev b 8 0',
    ]
    for (const command of tries) expect(`${command} ${(await run(command)).exitCode === 0}`).toBe(`${command} false`)
    await run(`unshare -Urm sh -c 'mount -o remount,rw /; umount -l ${cwd}/.git; echo x > ${sibling}/new'`)
    expect(readdirSync(sibling)).toEqual(['file'])
  })

  test.skipIf(!isRoot)('root cannot write the settings of the kernel', async () => {
    const { run } = await besides()
    for (const setting of ['/proc/sys/kernel/core_pattern', '/proc/sys/vm/swappiness'])
      expect((await run(`v=$(cat ${setting}); echo "$v" > ${setting}`)).stderr).toMatch(/Read-only/)
    expect(
      (await run('echo x > /sys/power/state; echo x > /sys/fs/cgroup/x; echo b > /proc/sysrq-trigger')).exitCode,
    ).toBe(1)
  })

  test('no rights can be gained', async () => {
    const { run } = await besides()
    const { stdout } = await run('grep -E "^(Cap...|NoNewPrivs|Seccomp):" /proc/self/status')
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      expect(stdout).toContain(`${set}:\t0000000000000000\n`)
    expect(stdout).toContain('NoNewPrivs:\t1\n')
    expect(stdout).toContain('Seccomp:\t2\n')
  })
})

describe.skipIf(unavailable)(`reading what is hidden${skipped}`, () => {
  test.skipIf(isInTemp)(
    `credentials below the home, files and folders, cannot be read by commands or file verbs${onDisk}`,
    async () => {
      const home = join(base, 'home')
      for (const name of ['.ssh', '.aws', '.libero', '.config/gcloud', '.config/other']) {
        mkdirSync(join(home, name), { recursive: true })
        writeFileSync(join(home, name, 'id'), 'canary-folder')
      }
      for (const name of ['.npmrc', '.netrc', '.git-credentials', '.gitconfig'])
        writeFileSync(join(home, name), 'canary-file')
      vi.stubEnv('HOME', home)
      const { context, handle, run } = await place({ cwd: emptyFolder() })
      for (const name of [
        '.ssh/id',
        '.aws/id',
        '.libero/id',
        '.config/gcloud/id',
        '.npmrc',
        '.netrc',
        '.git-credentials',
      ]) {
        expect(`${name} ${(await run(`cat ~/${name}`)).stdout}`).toBe(`${name} `)
        await expect(context.readFile(handle, join(home, name))).rejects.toMatchObject({
          code: expect.stringMatching(/EACCES|ENOENT/),
        })
      }
      expect(
        (
          await run(
            'ls ~/.ssh; chmod 755 ~/.ssh ~/.npmrc; ls -A ~/.ssh; cat ~/.npmrc; grep -r canary ~ 2>/dev/null | sort',
          )
        ).stdout,
      ).toBe(`${home}/.config/other/id:canary-folder\n${home}/.gitconfig:canary-file\n`)
    },
  )

  test('a home can be a root, and its credentials are neither read nor made', async () => {
    const home = join(base, 'home')
    mkdirSync(join(home, '.aws'), { recursive: true })
    writeFileSync(join(home, '.aws/credentials'), 'canary')
    vi.stubEnv('HOME', home)
    const { run, context, handle } = await place({ cwd: home })
    const command = 'cat .aws/*; mkdir -p .ssh; echo key > .ssh/authorized_keys; echo evil > .bashrc; echo x > new; ls'
    for (let n = 0; n < 2; n++) expect(await run(command)).toMatchObject({ stdout: 'new\n', exitCode: 0 })
    const policy = sandboxPolicy({
      ...{
        roots: [home],
        named: [],
        readOnly: [],
        temporaryAt: [],
        hidden: undefined,
        placeholders: createPlaceholders(),
      },
    })
    const { hidden, protection } = await policy.files({ writes: true })
    expect(protection?.missing).toContain(join(home, '.ssh')) // although something stands there for it
    expect(hidden.map(({ path }) => path)).toContain(join(home, '.aws'))
    await context.destroy(handle)
    expect(readdirSync(home).sort()).toEqual(['.aws', 'new'])
    const bare = join(base, 'bare')
    mkdirSync(bare)
    vi.stubEnv('HOME', bare)
    await (await place({ cwd: bare })).run('mkdir -p .ssh; echo key > .ssh/authorized_keys; touch ran')
    expect(spawnSync('grep', ['-r', 'key', bare], { encoding: 'utf8' }).stdout).toBe('')
    expect(readdirSync(bare)).toContain('ran')
  })

  test('what is named as hidden, also inside a root, also when it is not there yet', async () => {
    const cwd = join(base, 'w')
    mkdirSync(join(cwd, 'secrets'), { recursive: true })
    writeFileSync(join(cwd, 'secrets/a'), 'canary')
    writeFileSync(join(cwd, '.env'), 'canary')
    const hidden = [join(cwd, 'secrets'), join(cwd, '.env'), join(cwd, 'later')]
    const { run, context, handle } = await place({ cwd, hidden })
    expect(
      (await run('cat secrets/a .env; grep -r canary .; echo x > later; mv secrets s; mv .env e; ls')).stdout,
    ).toBe('later\nsecrets\n')
    expect((await run('echo x > .env')).exitCode).toBe(1)
    await context.destroy(handle)
    expect(readdirSync(cwd).sort()).toEqual(['.env', 'secrets'])
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe('canary')
  })

  test.skipIf(!isRoot)('what other programs of this machine keep in /run', async () => {
    const canary = mkdtempSync('/run/libero-canary-')
    try {
      writeFileSync(join(canary, 'token'), 'canary')
      spawnSync('mkfifo', [join(canary, 'pipe')])
      const { run } = await besides()
      expect((await run(`cat ${canary}/token; ls /run/libero* /var/run/libero*; echo x > /run/x`)).stdout).toBe('')
    } finally {
      await rm(canary, { recursive: true })
    }
  })

  test.skipIf(!isRoot)('the password file, which root could read', async () => {
    const { run } = await besides()
    expect((await run('cat /etc/shadow')).stderr).toMatch(/Permission denied/)
  })

  test('SE-01 SE-02 no secret of our environment is found in any', async () => {
    const canary = 'canary-4b1d0f6e'
    vi.stubEnv('ANTHROPIC_API_KEY', canary)
    vi.stubEnv('MY_SETTING', canary)
    const { run } = await besides()
    const { stdout } = await run(
      `env; export -p; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline; ps eww -e; ${node} -p process.env`,
    )
    expect(stdout).toContain('HOME=')
    expect(stdout).not.toContain(canary)
    const inherited = await place({ cwd: emptyFolder(), inheritEnv: ['MY_SETTING'] })
    expect((await inherited.run('echo $MY_SETTING')).stdout).toBe(`${canary}\n`)
  })

  test('SE-02 what is given to one command is not in the command lines of this machine', async () => {
    const { run } = await besides()
    const work = run('echo begun > begun; sleep 5', { env: { GIVEN: 'canary-cafe' }, timeout: 2500 })
    await begun(join(base, 'w'))
    const lines = spawnSync('sh', ['-c', 'cat /proc/[0-9]*/cmdline'], { encoding: 'latin1' }).stdout
    expect(lines).toContain('echo begun')
    expect(lines).not.toContain('canary-cafe')
    await work
  })
})

describe.skipIf(unavailable)(`reaching others${skipped}`, () => {
  test('processes of this machine are not seen, signalled or traced', async () => {
    const victim = spawn('sleep', ['100'])
    stopping.push(() => victim.kill('SIGKILL'))
    const { run } = await besides()
    const { stdout } = await run('ls -d /proc/[0-9]* | wc -l; hostname')
    expect(Number(stdout.split('\n')[0])).toBeLessThan(8)
    expect(stdout).toContain('sandbox')
    expect((await run(`kill -9 ${victim.pid}; kill -0 ${victim.pid}`)).exitCode).toBe(1)
    await run('kill -9 -1')
    if (hasPerl && process.arch === 'x64')
      expect((await run(`perl -e 'print syscall(101, 16, ${victim.pid}, 0, 0), " ", $!+0'`)).stdout).toBe('-1 3')
    expect([victim.exitCode, victim.signalCode]).toEqual([null, null])
  })

  test('neither the loopback of this machine nor an address outside is reached', async () => {
    const { port } = (await listen((server) => server.listen(0, '127.0.0.1'))) as { port: number }
    const { run } = await besides()
    const knock = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`
    expect(await run(knock)).toMatchObject({ stdout: '', exitCode: 1 })
    expect((await run('exec 3<>/dev/tcp/1.1.1.1/80')).stderr).toMatch(/unreachable/)
    expect((await run('cat /sys/class/net/*/operstate; tail -n +3 /proc/net/dev | cut -d: -f1')).stdout).toMatch(
      /\n *lo\n$/,
    )
    const open = await place({ cwd: emptyFolder(), network: true })
    expect(open.context.capabilities.network).toBe(true)
    expect((await open.run(knock)).stdout).toBe('hello from outside')
  })

  test('unix sockets of this machine are not reached, whether they have a path or none', async () => {
    const cwd = join(base, 'w')
    mkdirSync(cwd)
    const paths = [join(cwd, 's.sock'), `\0libero-${process.pid}-${Date.now()}`]
    for (const path of paths) await listen((server) => server.listen(path))
    for (const path of paths) {
      const client = `require("net").connect(${JSON.stringify(path)}).on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))`
      const command = `${node} -e '${client}'`
      const outside = createProcessContext({ cwd })
      const handle = await outside.spawn()
      expect((await outside.exec(handle, command)).stdout).toBe('hello from outside\n')
      await outside.destroy(handle)
      for (const network of [false, true])
        expect((await (await place({ cwd, network })).run(command)).stdout).toBe('EPERM\n')
    }
  })

  test.skipIf(!hasPerl)('system calls that lead out of the sandbox are refused', async () => {
    const { run } = await besides()
    const families =
      'for (1, 2, 10, 16, 17, 38, 40) { printf "%d:%d ", $_, socket(my $s, $_, $_ == 16 ? 3 : 1, 0) ? 0 : $!+0 }'
    expect((await run(`perl -e '${families}'`)).stdout).toBe('1:1 2:0 10:0 16:0 17:1 38:1 40:1 ')
    const pairs = 'for (1, 2, 3, 5) { printf "%d:%d ", $_, socketpair(my $a, my $b, 1, $_, 0) ? 0 : $!+0 }'
    expect((await run(`perl -e '${pairs}'`)).stdout).toBe('1:0 2:1 3:1 5:0 ')
    if (process.arch !== 'x64') return
    // unshare of a user namespace, clone of one, clone3, setns, add_key, keyctl, bpf, perf_event_open, io_uring_setup, x32
    const calls = [
      '272, 0x10000000',
      '56, 0x10000011',
      '435, 0, 0',
      '308, 0, 0',
      '248, 0, 0',
      '250, 0, 0',
      '321, 0, 0',
      '298, 0, 0',
      '425, 1, 0',
      '0x40000027',
    ]
    const tries = calls.map((call) => `print syscall(${call}) < 0 ? $!+0 : "done", " "`).join(';')
    expect((await run(`perl -e '${tries}'`)).stdout).toBe('1 1 38 1 1 1 1 1 38 38 ')
  })

  test('what this process has open by an oversight is closed inside', async () => {
    const script = fileURLToPath(new URL('../../../test/bubblewrap-child.ts', import.meta.url))
    const command = `exec 200</etc/hostname; exec ${node} --conditions=libero-source '${script}' fds '${emptyFolder()}'`
    const { stdout } = spawnSync('bash', ['-c', command], { encoding: 'utf8', timeout: 20_000 })
    expect(stdout).toBe('0 1 2\n')
  })
})

async function besides() {
  const cwd = join(base, 'w')
  const sibling = join(base, 'sibling')
  for (const folder of [cwd, sibling]) mkdirSync(folder)
  writeFileSync(join(sibling, 'file'), 'untouched')
  return { ...(await place({ cwd })), sibling }
}

async function listen(start: (server: Server) => void): Promise<ReturnType<Server['address']>> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end('hello from outside')
  })
  start(server)
  await once(server, 'listening')
  stopping.push(() => server.close())
  return server.address()
}
