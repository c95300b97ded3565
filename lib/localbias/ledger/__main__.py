"""``python -m localbias.ledger``: write the reference ledger from the published files."""

from localbias.ledger.assembly import write_reference

if __name__ == "__main__":
    print(write_reference())
