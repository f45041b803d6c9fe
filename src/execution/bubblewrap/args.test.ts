import { describe, expect, test } from 'vitest'
import { bubblewrapArgs, copiedPaths, type SandboxLayout } from './args.ts'

const layout: SandboxLayout = {
  roots: ['/w'],
  readOnly: [],
  hidden: [],
  protection: { existing: [], pinned: [], missing: [], watched: [], links: [], misplacedLinks: [] },
  temporary: '/private/tmp',
  temporaryAt: ['/tmp'],
  nothing: '/private/nothing',
  hostNetwork: false,
  env: {},
  fds: { seccomp: 4, status: 5, copies: 10 },
  knowsSize: true,
}

describe('the arguments of bubblewrap', () => {
  test('every namespace is its own, rights are dropped, and it dies with us', () => {
    const args = bubblewrapArgs(layout)
    for (const name of ['user', 'pid', 'ipc', 'uts', 'net']) expect(args).toContain(`--unshare-${name}`)
    for (const flag of ['--unshare-cgroup-try', '--die-with-parent', '--new-session', '--clearenv'])
      expect(args).toContain(flag)
    expect(args.join(' ')).toContain('--cap-drop ALL')
    expect(args.join(' ')).toContain('--seccomp 4')
    expect(bubblewrapArgs({ ...layout, hostNetwork: true })).not.toContain('--unshare-net')
  })

  test('a file that is copied comes from the descriptor at its place in the list, unless it is hidden', () => {
    const base = ['/etc/b', '/etc/a'].map((path) => ({ path, how: 'read', isCopied: true }) as const)
    const copying = { ...layout, base: [{ path: '/usr', how: 'read' } as const, ...base] }
    expect(copiedPaths(copying)).toEqual(['/etc/b', '/etc/a'])
    expect(bubblewrapArgs(copying).join(' ')).toContain('--file 10 /etc/b --perms 0644 --file 11 /etc/a')
    expect(copiedPaths({ ...copying, hidden: [{ path: '/etc/b', isFolder: false }] })).toEqual(['/etc/a'])
  })

  test('all of it is read-only first, also what root could write in /proc', () => {
    const text = bubblewrapArgs(layout).join(' ')
    expect(text).toMatch(
      /--ro-bind \/ \/ --proc \/proc --remount-ro \/proc --dev \/dev .*--remount-ro \/dev .*--tmpfs \/run/,
    )
    expect(text).not.toMatch(/--dev-bind|--share-net|--cap-add/)
  })

  test('inner folders come after outer ones, and what is stricter wins', () => {
    const args = bubblewrapArgs({
      ...layout,
      roots: ['/tmp/a/w', '/w'],
      readOnly: ['/w/vendor', '/tmp/tool'],
      hidden: [
        { path: '/w/vendor/key', isFolder: false },
        { path: '/home/u/.ssh', isFolder: true },
        { path: '/w/.npmrc', isFolder: false },
      ],
      protection: {
        existing: ['/w/.git/hooks', '/w/.npmrc'],
        pinned: ['/w/.git'],
        missing: ['/w/.vscode'],
        watched: [],
        links: [],
        misplacedLinks: [],
      },
    })
    expect(mounts(args)).toEqual([
      '--bind /private/tmp /tmp',
      '--bind /w /w',
      '--tmpfs /w/.vscode',
      '--ro-bind /w/vendor /w/vendor',
      '--ro-bind /tmp/tool /tmp/tool',
      '--ro-bind /private/nothing /w/.npmrc',
      '--bind /w/.git /w/.git',
      '--bind /tmp/a/w /tmp/a/w',
      '--ro-bind /w/.git/hooks /w/.git/hooks',
      '--ro-bind /private/nothing /w/vendor/key',
      '--tmpfs /home/u/.ssh',
    ])
    expect(args.join(' ')).toContain('--perms 0555 --tmpfs /w/.vscode')
    expect(args.join(' ')).toContain('--perms 0000 --tmpfs /home/u/.ssh')
  })

  test('what is protected in a folder that is empty inside is not mounted there, where it would be seen', () => {
    const protection = { ...layout.protection!, existing: ['/w/home/.ssh', '/w/.git/config'], missing: ['/w/home/.x'] }
    const base = [{ path: '/w/home', how: 'memory' } as const]
    const text = bubblewrapArgs({ ...layout, base, protection }).join(' ')
    expect(text).toContain('/w/.git/config')
    expect(text).not.toMatch(/\/w\/home\/\./)
  })

  test('folders on the way to what is mounted become mounts, but only where they can be written anyway', () => {
    const args = bubblewrapArgs({
      ...layout,
      roots: ['/w', '/w/a/b/sub', '/w/vendor/x/y'],
      readOnly: ['/w/vendor', '/w/c/ro'],
      hidden: [
        { path: '/w/vendor/in/key', isFolder: false },
        { path: '/w/d/key', isFolder: false },
      ],
      protection: { ...layout.protection!, pinned: ['/w/e', '/w/vendor/p'] },
    })
    const written = mounts(args).filter((mount) => mount.startsWith('--bind /w'))
    expect(written.map((mount) => mount.split(' ')[1]).sort()).toEqual(
      ['/w', '/w/a', '/w/a/b', '/w/a/b/sub', '/w/c', '/w/d', '/w/e', '/w/vendor/x/y'].sort(),
    )
  })

  test('where nothing is written the roots are read-only too', () => {
    const { protection: _, ...reading } = layout
    expect(mounts(bubblewrapArgs(reading))).toEqual(['--bind /private/tmp /tmp', '--ro-bind /w /w'])
  })

  test('the environment is what is given, whatever is in it', () => {
    const args = bubblewrapArgs({ ...layout, env: { A: '--bind', B: '', C: 'x y' } })
    const at = args.indexOf('--clearenv')
    expect(args.slice(at, at + 10)).toEqual([
      '--clearenv',
      ...['--setenv', 'A', '--bind'],
      ...['--setenv', 'B', ''],
      ...['--setenv', 'C', 'x y'],
    ])
  })

  test('an older bubblewrap is not asked for what it does not know', () => {
    expect(bubblewrapArgs(layout)).toContain('--size')
    expect(bubblewrapArgs({ ...layout, knowsSize: false })).not.toContain('--size')
  })
})

/** Those that depend on the layout, in order. */
function mounts(args: readonly string[]): string[] {
  const from = args.lastIndexOf('--ro-bind-try') + 3
  const text = args.slice(from, args.lastIndexOf('--remount-ro')).join(' ')
  return text.replace(/--(size|perms) \d+ /g, '').split(/ (?=--)/)
}
