import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "@jest/globals";
import ts from "typescript";

const project = new URL("../", import.meta.url);
/** What is reached from outside: the published modules, the command line, and what the build calls. */
const ENTRIES = /^src\/(?:index|cli|drive\/index|surfaces\/acp\/index|backend-suite\/index|schema\/generated)\.ts$/;
const GENERATED = "src/schema/types.ts";
/** Operations are introduced by their docstring, which follows the imports. */
const OPERATIONS = /^src\/ops\/(?:drives\/)?[^/]+\.ts$/;

function filesIn(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, project), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((name) => /\.tsx?$/.test(name));
}

const read = (file: string): string => readFileSync(new URL(file, project), "utf8");

/** Names that a file takes from our modules, as `file name`; a module that is taken as a whole as `file *`. */
function* importsOf(file: string, text: string): Generator<string> {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const target = (node: ts.Expression | undefined): string | undefined =>
    node !== undefined && ts.isStringLiteral(node) && node.text.startsWith(".")
      ? posix.join(posix.dirname(file), node.text).replace(/\.js$/, ".ts")
      : undefined;
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      const from = target(node.moduleSpecifier);
      const names = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
      if (from !== undefined && names !== undefined && "elements" in names) {
        for (const { name, propertyName } of names.elements) found.push(`${from} ${(propertyName ?? name).text}`);
      } else if (from !== undefined) found.push(`${from} *`);
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const from = target(node.arguments[0]);
      if (from !== undefined) found.push(`${from} *`);
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const { literal } = node.argument;
      if (ts.isStringLiteral(literal)) found.push(`${target(literal)} *`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  yield* found;
}

/** Names of the functions, classes and constants that a module exports. */
function exportsOf(file: string, text: string): string[] {
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  return statements.flatMap((statement) => {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    if (!isExported) return [];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
    }
    if (!ts.isFunctionDeclaration(statement) && !ts.isClassDeclaration(statement)) return [];
    return statement.name === undefined ? [] : [statement.name.text];
  });
}

describe("the modules of src", () => {
  const modules = filesIn("src").filter((file) => file !== GENERATED);

  test("each says in its first lines what it is for", () => {
    const silent = modules.filter((file) => !OPERATIONS.test(file) && !/^(?:#!.*\n)?\s*\/[/*]/.test(read(file)));
    expect(silent.map((file) => `${file}: begin with a comment of one or two lines that says what it is for`)).toEqual(
      [],
    );
  });

  test("nothing is exported that nobody imports", () => {
    const imported = new Set(["src", "test"].flatMap(filesIn).flatMap((file) => [...importsOf(file, read(file))]));
    const unused = modules
      .filter((file) => !ENTRIES.test(file) && !imported.has(`${file} *`))
      .flatMap((file) => exportsOf(file, read(file)).map((name) => `${file} ${name}`))
      .filter((one) => !imported.has(one));
    expect(unused.map((one) => `${one}: nobody imports it; drop it, or its export`)).toEqual([]);
  });
});
