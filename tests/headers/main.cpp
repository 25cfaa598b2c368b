// The test is that the sources beside this one compile: each has one public header, twice, before
// anything else could have supplied what the header forgot to include.
int main() {
    return 0;
}
