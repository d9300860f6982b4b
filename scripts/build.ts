/** Builds `dist` from `src`: tsc, then one ncc bundle for the action and one for the command line. */

import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const bin = (name: string) => path.join(root, 'node_modules', '.bin', name)
const run = (command: string, args: readonly string[]) =>
  execFileSync(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })

rmSync(path.join(root, 'build'), { recursive: true, force: true })
rmSync(path.join(root, 'dist'), { recursive: true, force: true })
run(bin('tsc'), ['-p', 'tsconfig.build.json'])
run(bin('ncc'), ['build', 'build/index.js', '-o', 'dist', '--license', 'licenses.txt'])
run(bin('ncc'), ['build', 'build/cli.js', '-o', 'dist/cli', '--license', 'licenses.txt'])
chmodSync(path.join(root, 'dist', 'cli', 'index.js'), 0o755)
