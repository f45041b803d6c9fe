import { findWrites, readFind } from './find.ts'
import { alwaysReads, type Program, reads } from './program.ts'

/** Programs that list or find files and folders, or show their attributes. */
export const filePrograms: Readonly<Record<string, Program>> = {
  ls: alwaysReads(
    'aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1',
    'all almost-all author escape block-size: ignore-backups color? directory classify? file-type format: full-time group-directories-first no-group human-readable si dereference dereference-command-line hide: hyperlink? indicator-style: inode ignore: kibibytes literal numeric-uid-gid hide-control-chars quote-name quoting-style: reverse recursive size sort: time: time-style: width: context zero',
    { readsHere: true },
  ),
  find: reads(readFind, { writes: findWrites, startsNothing: true, forgets: true }),
  stat: alwaysReads('c:fLtx', 'dereference file-system format: printf: terse'),
  // -C writes, -z starts decompressors, -m and -f read lists of other files.
  file: reads({
    short: 'bhiIkLNr0F:',
    long: 'brief mime mime-type mime-encoding extension dereference no-dereference no-pad raw print0 separator:',
  }),
  du: alwaysReads(
    '0abB:cd:DhHkLlmPsSt:xX<',
    'all apparent-size block-size: bytes total max-depth: human-readable si dereference one-file-system summarize separate-dirs threshold: exclude: exclude-from< time? null inodes',
    { readsHere: true },
  ),
  df: alwaysReads(
    'aB:hHiklmPt:Tx:',
    'all block-size: human-readable si inodes local output? portability total type: print-type exclude-type:',
  ),
  which: reads({ short: 'as', long: 'all', words: 'text' }),
  basename: alwaysReads('as:z', 'multiple suffix: zero', { words: 'text' }),
  dirname: alwaysReads('z', 'zero', { words: 'text' }),
  realpath: alwaysReads(
    'eLmPqsz',
    'canonicalize-existing canonicalize-missing logical physical quiet relative-to: relative-base: strip no-symlinks zero',
  ),
  readlink: alwaysReads('efmnqsvz', 'canonicalize canonicalize-existing canonicalize-missing no-newline zero'),
  // -o writes, and -R starts tree again with -o. Older ones read on in a bundle after a flag that takes a value.
  tree: reads({
    short: 'aACdDfFghiI:JlL:nNpP:qQrsStuUvxX',
    long: 'dirsfirst filesfirst noreport prune filelimit: du si gitignore charset: matchdirs ignore-case inodes device timefmt: sort?',
    readsHere: true,
    valuesApart: true,
  }),
}
