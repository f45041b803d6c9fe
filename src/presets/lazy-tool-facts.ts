import type { ToolDef } from '../core/tool.ts'

// Made by scripts/lazy-tools.ts; never edited.

/** What the tools of `lazy-tools.ts` say of themselves. */
export const lazyToolFacts = {
  shell: {
    spec: {
      name: 'shell',
      description:
        'Runs a shell command and gives back its output (stdout and stderr as they came; only the end, if it is long) and its exit code.\nThere is no terminal and nothing to type into it: pass flags such as --yes, and no editors or pagers.\nEvery command starts anew in the working directory; cd and variables are not kept. What a command leaves running is stopped.',
      inputSchema: {
        type: 'object',
        properties: {
          command: {
            type: 'string',
          },
          timeout: {
            type: 'integer',
            description: 'Milliseconds. Default 120000, at most 600000.',
          },
          cwd: {
            type: 'string',
            description: 'Folder to run in.',
          },
          outside: {
            type: 'boolean',
            description: 'Only for a command that the sandbox stopped: asks a person to run it outside.',
          },
          reason: {
            type: 'string',
            description: 'Why it must run outside.',
          },
        },
        required: ['command'],
      },
    },
    replay: 'opaque',
    effects: ['exec'],
    cancelsSiblings: true,
    timeoutMs: 0,
  },
  readFile: {
    spec: {
      name: 'read_file',
      description:
        'Reads a file.\nText comes in pages of whole lines; the last line tells which lines were shown and with which offset to go on.\nImages (PNG, JPEG, GIF, WebP) and PDFs are shown as such; of other binary files only size and kind are told.\nA number and a tab in front of a line are not part of the file, nor is the note in parentheses at the end. CRLF line ends are shown as newlines.',
      inputSchema: {
        type: 'object',
        properties: {
          path: {
            type: 'string',
            description: 'The file; a relative path counts from the working directory.',
          },
          offset: {
            type: 'integer',
            description: 'The first line to show, from 1. Default 1.',
          },
          limit: {
            type: 'integer',
            description: 'How many lines at most. Default 2000; 0 for no limit.',
          },
          maxBytes: {
            type: 'integer',
            description: 'How many bytes at most. Default 262144; 0 for no limit.',
          },
        },
        required: ['path'],
      },
    },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    timeoutMs: 30000,
  },
  writeFile: {
    spec: {
      name: 'write_file',
      description:
        'Writes a whole file, exactly as given: a new one, with the folders it needs, or one that replaces an existing file.\nTo change part of a file, use an edit instead.',
      inputSchema: {
        type: 'object',
        properties: {
          path: {
            type: 'string',
            description: 'The file; a relative path counts from the working directory.',
          },
          content: {
            type: 'string',
            description: 'The whole content of the file.',
          },
        },
        required: ['path', 'content'],
      },
    },
    isConcurrencySafe: false,
    replay: 'keyed',
    effects: ['fs.write'],
    timeoutMs: 30000,
  },
  edit: {
    spec: {
      name: 'edit',
      description:
        'Replaces a piece of text in a file.\nold_string must be in the file exactly once, including its indentation: include surrounding lines until it is unique, or set replace_all to replace every occurrence.\nLeave out the line numbers that read_file shows. The rest of the file stays byte for byte as it is, and new lines get the line endings of the file.',
      inputSchema: {
        type: 'object',
        properties: {
          path: {
            type: 'string',
            description: 'The file; a relative path counts from the working directory.',
          },
          old_string: {
            type: 'string',
            description: 'The text to replace, exactly as it is in the file.',
          },
          new_string: {
            type: 'string',
            description: 'The text to replace it with.',
          },
          replace_all: {
            type: 'boolean',
            description: 'Replace every occurrence. Default false: there must be exactly one.',
          },
        },
        required: ['path', 'old_string', 'new_string'],
      },
    },
    isConcurrencySafe: false,
    replay: 'keyed',
    effects: ['fs.read', 'fs.write'],
    timeoutMs: 30000,
  },
  multiEdit: {
    spec: {
      name: 'multi_edit',
      description:
        'Makes several edits to one file, in the order given, each on the result of the one before. If one of them fails, none is made.\nEach old_string must be in the file exactly once at its turn, including its indentation, unless it has replace_all.\nLeave out the line numbers that read_file shows. The rest of the file stays byte for byte as it is, and new lines get the line endings of the file.',
      inputSchema: {
        type: 'object',
        properties: {
          path: {
            type: 'string',
            description: 'The file; a relative path counts from the working directory.',
          },
          edits: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                old_string: {
                  type: 'string',
                  description: 'The text to replace, exactly as it is in the file.',
                },
                new_string: {
                  type: 'string',
                  description: 'The text to replace it with.',
                },
                replace_all: {
                  type: 'boolean',
                  description: 'Replace every occurrence. Default false: there must be exactly one.',
                },
              },
              required: ['old_string', 'new_string'],
            },
            description: 'The edits, in order.',
          },
        },
        required: ['path', 'edits'],
      },
    },
    isConcurrencySafe: false,
    replay: 'keyed',
    effects: ['fs.read', 'fs.write'],
    timeoutMs: 30000,
  },
  listFiles: {
    spec: {
      name: 'list_files',
      description: 'Lists what is directly in a folder, hidden files too, sorted by name. Folders end with a slash.',
      inputSchema: {
        type: 'object',
        properties: {
          path: {
            type: 'string',
            description: 'The folder. Default: the working directory.',
          },
        },
      },
    },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    timeoutMs: 30000,
  },
  glob: {
    spec: {
      name: 'glob',
      description:
        'Finds files by their path: `**/*.ts` in all folders, `src/*.{ts,tsx}` directly in src, `*.md` directly in `path`.\nResults are sorted by path, folder by folder, and come in pages; the note in parentheses at the end tells how to get the next one.\nLeft out are folders themselves, `.git`, links, and what a `.gitignore` leaves out unless `path`, or the beginning of the pattern, names that folder. Hidden files are found.',
      inputSchema: {
        type: 'object',
        properties: {
          pattern: {
            type: 'string',
            description: 'The glob, relative to path.',
          },
          path: {
            type: 'string',
            description: 'The folder to look in. Default: the working directory.',
          },
          head_limit: {
            type: 'integer',
            description: 'How many entries to show. Default 250; 0 for all, up to 20000.',
          },
          offset: {
            type: 'integer',
            description: 'How many entries to skip, for the next page. Default 0.',
          },
        },
        required: ['pattern'],
      },
    },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    timeoutMs: 60000,
  },
  grep: {
    spec: {
      name: 'grep',
      description:
        "Searches in files for a regular expression, in ripgrep's dialect: no look-around, no backreferences, and braces that are meant as such are escaped (`interface\\{\\}`).\nResults are sorted by path, folder by folder, and come in pages; the note in parentheses at the end tells how to get the next one.\nLeft out are binary files, `.git`, links, and what a `.gitignore` leaves out unless `path` is that folder or file itself. Hidden files are searched.",
      inputSchema: {
        type: 'object',
        properties: {
          pattern: {
            type: 'string',
            description: 'The regular expression.',
          },
          path: {
            type: 'string',
            description: 'The folder or file to search. Default: the working directory.',
          },
          glob: {
            type: 'string',
            description:
              'Only files that match, such as "*.ts", "*.{js,jsx}", "src/**/*.go" (relative to path), or without some: "!*.test.ts". Several are separated by commas.',
          },
          type: {
            type: 'string',
            description: 'Only files of a type that ripgrep knows: ts, js, py, rust, go, java, …',
          },
          output_mode: {
            type: 'string',
            enum: ['content', 'files_with_matches', 'count'],
            description:
              'What to show: lines (content), paths of files (files_with_matches, the default), or how many lines match in each file (count).',
          },
          '-i': {
            type: 'boolean',
            description: 'Ignore case. Default false.',
          },
          '-n': {
            type: 'boolean',
            description: 'Show line numbers, with content. Default true.',
          },
          '-A': {
            type: 'integer',
            description: 'Lines to show after each match, with content.',
          },
          '-B': {
            type: 'integer',
            description: 'Lines to show before each match, with content.',
          },
          '-C': {
            type: 'integer',
            description: 'Lines to show before and after each match, with content.',
          },
          context: {
            type: 'integer',
            description: 'The same as -C.',
          },
          multiline: {
            type: 'boolean',
            description: 'Matches may go over several lines, and a dot matches newlines. Default false.',
          },
          head_limit: {
            type: 'integer',
            description: 'How many entries to show. Default 250; 0 for all, up to 20000.',
          },
          offset: {
            type: 'integer',
            description: 'How many entries to skip, for the next page. Default 0.',
          },
        },
        required: ['pattern'],
      },
    },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    timeoutMs: 60000,
  },
} satisfies Record<string, Omit<ToolDef, 'execute'>>

export type LazyToolKey = keyof typeof lazyToolFacts
