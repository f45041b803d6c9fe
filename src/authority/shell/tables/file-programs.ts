import type { FlagTable } from './flags.ts'

/** Programs that list files and folders or show their attributes. */
export const filePrograms: Readonly<Record<string, FlagTable>> = {
  ls: {
    short: 'aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1',
    long: 'all almost-all author escape block-size: ignore-backups color? directory classify? file-type format: full-time group-directories-first no-group human-readable si dereference dereference-command-line hide: hyperlink? indicator-style: inode ignore: kibibytes literal numeric-uid-gid hide-control-chars quote-name quoting-style: reverse recursive size sort: time: time-style: width: context zero',
    hasOnlyReadFlags: true,
    readsHere: true,
  },
  stat: { short: 'c:fLtx', long: 'dereference file-system format: printf: terse', hasOnlyReadFlags: true },
  // -C writes, -z starts decompressors, -m and -f read lists of other files.
  file: {
    short: 'bhiIkLNr0F:',
    long: 'brief mime mime-type mime-encoding extension dereference no-dereference no-pad raw print0 separator:',
  },
  du: {
    short: '0abB:cd:DhHkLlmPsSt:xX<',
    long: 'all apparent-size block-size: bytes total max-depth: human-readable si dereference one-file-system summarize separate-dirs threshold: exclude: exclude-from< time? null inodes',
    hasOnlyReadFlags: true,
    readsHere: true,
  },
  df: {
    short: 'aB:hHiklmPt:Tx:',
    long: 'all block-size: human-readable si inodes local output? portability total type: print-type exclude-type:',
    hasOnlyReadFlags: true,
  },
  which: { short: 'as', long: 'all', words: 'text' },
  basename: { short: 'as:z', long: 'multiple suffix: zero', words: 'text', hasOnlyReadFlags: true },
  dirname: { short: 'z', long: 'zero', words: 'text', hasOnlyReadFlags: true },
  realpath: {
    short: 'eLmPqsz',
    long: 'canonicalize-existing canonicalize-missing logical physical quiet relative-to: relative-base: strip no-symlinks zero',
    hasOnlyReadFlags: true,
  },
  readlink: {
    short: 'efmnqsvz',
    long: 'canonicalize canonicalize-existing canonicalize-missing no-newline zero',
    hasOnlyReadFlags: true,
  },
  // -o writes, and -R starts tree again with -o. Older ones read on in a bundle after a flag that takes a value.
  tree: {
    short: 'aACdDfFghiI:JlL:nNpP:qQrsStuUvxX',
    long: 'dirsfirst filesfirst noreport prune filelimit: du si gitignore charset: matchdirs ignore-case inodes device timefmt: sort?',
    readsHere: true,
    valuesApart: true,
  },
}
