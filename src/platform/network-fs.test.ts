import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { networkFileSystemOf, typeOfMount } from './network-fs.ts'

const line = (point: string, type: string): string => `36 22 0:50 / ${point} rw,noatime shared:1 - ${type} source rw\n`

test('FD-34 the longest mount point above a folder decides, and of two at one place the later', () => {
  const table = line('/', 'ext4') + line('/home', 'nfs4') + line('/home/ann/local', 'xfs') + line('/a\\040b', '9p')
  expect(typeOfMount(table, '/home/ann')).toBe('nfs4')
  expect(typeOfMount(table, '/home/ann/local/x')).toBe('xfs')
  expect(typeOfMount(table, '/homes')).toBe('ext4')
  expect(typeOfMount(table, '/a b/c')).toBe('9p')
  expect(typeOfMount(table + line('/home', 'btrfs'), '/home')).toBe('btrfs')
  expect(typeOfMount('', '/home')).toBeUndefined()
})

test('FD-34 network file systems are known by their types, and a link does not hide them', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-mounts-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'share'))
  symlinkSync(join(folder, 'share'), join(folder, 'link'))
  const found = (type: string) =>
    networkFileSystemOf(join(folder, 'link/not/there'), () => line('/', 'ext4') + line(join(folder, 'share'), type))
  const network = 'nfs nfs4 cifs smb3 smbfs fuse.sshfs 9p afs ceph glusterfs fuse.glusterfs lustre'.split(' ')
  for (const type of network) expect(found(type), type).toBe(type)
  for (const type of ['ext4', 'xfs', 'btrfs', 'zfs', 'tmpfs', 'overlay', 'apfs', 'fuse.ntfs'])
    expect(found(type), type).toBeUndefined()
  expect(networkFileSystemOf(folder, () => undefined)).toBeUndefined()
})
